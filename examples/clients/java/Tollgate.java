// A client on a plain socket, for the JDK alone: `java Tollgate.java 6380`. A service has one such client per thread, or Jedis (JedisExample.java).

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

public final class Tollgate implements AutoCloseable {
    /** A decision. Times are in seconds; `retryAfter` is -1 if allowed, or if it can never be. */
    public record Decision(boolean allowed, long limit, long remaining, long retryAfter, long resetAfter) {}

    private final Socket socket = new Socket();
    private final InputStream in;
    private final OutputStream out;

    public Tollgate(String host, int port) throws IOException {
        socket.connect(new InetSocketAddress(host, port), 250);
        socket.setSoTimeout(250);
        socket.setTcpNoDelay(true);
        in = new BufferedInputStream(socket.getInputStream());
        out = new BufferedOutputStream(socket.getOutputStream());
    }

    /** Charges a key. Throws if there is no decision, which is never a grant. */
    public Decision throttle(String key, long maxBurst, long count, long period) throws IOException {
        send("CL.THROTTLE", key, "" + maxBurst, "" + count, "" + period);
        return decision();
    }

    /** Sends a command without waiting, for a pipeline: then read a decision for each. */
    public void send(String... words) throws IOException {
        out.write(("*" + words.length + "\r\n").getBytes(StandardCharsets.US_ASCII));
        for (String word : words) {
            byte[] bytes = word.getBytes(StandardCharsets.UTF_8);
            out.write(("$" + bytes.length + "\r\n").getBytes(StandardCharsets.US_ASCII));
            out.write(bytes);
            out.write("\r\n".getBytes(StandardCharsets.US_ASCII));
        }
    }

    public Decision decision() throws IOException {
        out.flush();
        String head = line();
        if (!head.equals("*5")) throw new IOException("no decision: " + head);
        long[] numbers = new long[5];
        for (int i = 0; i < 5; i++) numbers[i] = Long.parseLong(line().substring(1));
        return new Decision(numbers[0] == 0, numbers[1], numbers[2], numbers[3], numbers[4]);
    }

    private String line() throws IOException {
        StringBuilder line = new StringBuilder();
        for (int next = in.read(); next != '\r'; next = in.read()) {
            if (next < 0) throw new IOException("the connection has ended");
            line.append((char) next);
        }
        in.read();
        return line.toString();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }

    public static void main(String[] arguments) throws IOException {
        try (Tollgate tollgate = new Tollgate("127.0.0.1", Integer.parseInt(arguments[0]))) {
            Decision first = tollgate.throttle("java:ada", 15, 30, 60);
            if (!first.equals(new Decision(true, 16, 15, -1, 2))) throw new AssertionError(first);
            for (int i = 0; i < 100; i++) tollgate.send("CL.THROTTLE", "java:ada", "15", "30", "60");
            int allowed = 0;
            for (int i = 0; i < 100; i++) if (tollgate.decision().allowed()) allowed++;
            if (allowed != 15) throw new AssertionError(allowed + " allowed");
            System.out.println("java: ok");
        }
    }
}
