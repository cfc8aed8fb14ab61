"""What redis-py does with the endpoint, in both protocols: connect, decide, pipeline, and report errors."""

import sys

import redis

port = int(sys.argv[1])
for protocol in (2, 3):
    client = redis.Redis(port=port, protocol=protocol, client_name="web-1", decode_responses=True)
    key = f"user:{protocol}"
    assert client.ping()
    assert client.execute_command("CL.THROTTLE", key, 15, 30, 60) == [0, 16, 15, -1, 2]

    pipeline = client.pipeline(transaction=False)
    for _ in range(100):
        pipeline.execute_command("CL.THROTTLE", key, 15, 30, 60)
    replies = pipeline.execute()
    assert [reply[0] for reply in replies] == [0] * 15 + [1] * 85, replies

    check = client.execute_command("TG.CHECK", "TOKEN_BUCKET", key, 5, 1, 10)
    assert (check if protocol == 3 else dict(zip(check[::2], check[1::2])))["remaining"] == 4, check
    try:
        client.execute_command("CL.THROTTLE", key, "x", 30, 60)
        raise SystemExit("a wrong number was accepted")
    except redis.ResponseError as error:
        assert "Couldn't parse as integer: x" in str(error), error
    assert client.client_getname() == "web-1"
    assert client.info()["redis_version"] == "7.0.0"
    assert client.command_count() == 23
    client.close()
print("redis-py: ok")
