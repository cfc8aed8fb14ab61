// What ioredis does with the endpoint: connect, decide, pipeline, and report errors.

const assert = require("node:assert");
const Redis = require("ioredis");

async function main() {
  const redis = new Redis({ port: Number(process.argv[2]), connectionName: "web-1" });
  assert.deepStrictEqual(await redis.call("CL.THROTTLE", "user", 15, 30, 60), [0, 16, 15, -1, 2]);
  const pipeline = redis.pipeline();
  for (let i = 0; i < 100; i += 1) pipeline.call("CL.THROTTLE", "user", 15, 30, 60);
  const replies = await pipeline.exec();
  assert.strictEqual(replies.filter(([error, reply]) => error === null && reply[0] === 0).length, 15);
  await assert.rejects(redis.call("CL.THROTTLE", "user", "x", 30, 60), /Couldn't parse as integer: x/);
  assert.strictEqual(await redis.client("GETNAME"), "web-1");
  assert.strictEqual(await redis.quit(), "OK");
  console.log("ioredis: ok");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
