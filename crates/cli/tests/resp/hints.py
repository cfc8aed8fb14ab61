"""Runs redis-cli in a terminal, types a command's name, and prints all that redis-cli shows."""

import os
import pty
import select
import sys
import time

pid, terminal = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.execvp("redis-cli", ["redis-cli", "-p", sys.argv[1]])

shown = b""


def read_until(text, seconds=30):
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
