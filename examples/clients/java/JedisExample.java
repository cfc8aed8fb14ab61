// With Jedis. NOT RUN by our tests: Maven Central is not among the registries that they install from. Tollgate.java is run.

import java.util.List;
import redis.clients.jedis.JedisPooled;

public final class JedisExample {
    public static void main(String[] arguments) {
        try (JedisPooled jedis = new JedisPooled("127.0.0.1", 6380)) {
            List<?> reply = (List<?>) jedis.sendCommand(() -> "CL.THROTTLE".getBytes(), "api-key:ada", "15", "30", "60");
            boolean allowed = (Long) reply.get(0) == 0;
            System.out.println(allowed ? "allowed" : "429, Retry-After: " + reply.get(3));
        }
    }
}
