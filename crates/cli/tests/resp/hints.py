"""Runs redis-cli in a terminal, types a command's name, and prints all that redis-cli shows."""

import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time

pid, terminal = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.execvp("redis-cli", ["redis-cli", "-p", sys.argv[1]])

# Without a size, redis-cli asks the terminal for it, which does not answer.
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
shown = b""


def read_until(text, seconds=20):
    global shown
    end = time.monotonic() + seconds
    while text not in shown and time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                shown += os.read(terminal, 65536)
            except OSError:
                return


read_until(b"> ")
for letter in b"CL.THROTTLE ":
    os.write(terminal, bytes([letter]))
read_until(b"[quantity]")
os.write(terminal, b"\x03")
sys.stdout.buffer.write(shown)
