// Express: app.use(rateLimit(new Redis("redis://127.0.0.1:6380"))). API key first, address second.

// max_burst, count, period in seconds.
const PER_KEY = [19, 10, 1];
const PER_ADDRESS = [99, 100, 60];
const TOO_MANY = "https://iana.org/assignments/http-problem-types#quota-exceeded";

function rateLimit(redis) {
  return async (request, response, next) => {
    const apiKey = request.get("X-API-Key");
    // request.ip is the peer, unless "trust proxy" is set to the proxies in front.
    const [name, key, numbers] = apiKey
      ? ["key", `api-key:${apiKey}`, PER_KEY]
      : ["address", `address:${request.ip}`, PER_ADDRESS];
    let reply;
    try {
      reply = await redis.call("CL.THROTTLE", key, ...numbers);
    } catch {
      // No decision is never a grant.
      response.set("Retry-After", "1").status(503).json({ title: "No decision on the rate limit", status: 503 });
      return;
    }
    const [limited, limit, remaining, retry, reset] = reply;
    const [burst, count, period] = numbers;
    response.set({
      "RateLimit-Policy": `"${name}";q=${limit};w=${Math.max(1, Math.ceil(((burst + 1) * period) / count))}`,
      RateLimit: `"${name}";r=${remaining};t=${limited ? retry : reset}`,
      "X-RateLimit-Limit": String(limit),
      "X-RateLimit-Remaining": String(remaining),
      "X-RateLimit-Reset": String(reset),
    });
    if (!limited) {
      next();
      return;
    }
    response.set({ "Retry-After": String(Math.max(1, retry)), "Cache-Control": "no-store" });
    response.status(429).type("application/problem+json");
    response.send(JSON.stringify({ type: TOO_MANY, title: "Rate limit exceeded", status: 429 }));
  };
}

module.exports = { rateLimit };
