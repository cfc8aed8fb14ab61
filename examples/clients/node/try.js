// Runs the middleware in front of one handler, against the Tollgate at the port in the first argument.

const assert = require("node:assert");
const express = require("express");
const Redis = require("ioredis");
const { rateLimit } = require("./middleware.js");

async function serve(redis) {
  const app = express();
  app.use(rateLimit(redis));
  app.get("/hello", (request, response) => response.send("hello"));
  const server = await new Promise((resolve) => {
    const listening = app.listen(0, "127.0.0.1", () => resolve(listening));
  });
  return { server, url: `http://127.0.0.1:${server.address().port}/hello` };
}

async function main() {
  const redis = new Redis(Number(process.argv[2]));
  const { server, url } = await serve(redis);
  const get = (headers = {}) => fetch(url, { headers });
  for (let i = 0; i < 20; i += 1) assert.strictEqual((await get({ "X-API-Key": "node" })).status, 200);
  let refused;
  do refused = await get({ "X-API-Key": "node" });
  while (refused.status !== 429);
  assert(Number(refused.headers.get("Retry-After")) >= 1);
  assert.match(refused.headers.get("RateLimit"), /^"key";r=0;t=/);
  assert.strictEqual((await get()).headers.get("RateLimit-Policy"), '"address";q=100;w=60');
  server.close();
  redis.disconnect();

  // A Tollgate that is away is no grant.
  const nobody = new Redis({ port: 1, maxRetriesPerRequest: 0, retryStrategy: () => null });
  nobody.on("error", () => {});
  const without = await serve(nobody);
  assert.strictEqual((await fetch(without.url)).status, 503);
  without.server.close();
  console.log("express: ok");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
