"""Runs the FastAPI middleware in front of one operation, against the Tollgate at the port in the first argument."""

import sys

from fastapi import FastAPI
from fastapi.testclient import TestClient

from fastapi_middleware import RateLimit

app = FastAPI()
app.add_middleware(RateLimit, url=f"redis://127.0.0.1:{sys.argv[1]}")


@app.get("/hello")
def hello():
    return "hello"


client = TestClient(app)
statuses = [client.get("/hello", headers={"X-API-Key": "fastapi"}).status_code for _ in range(25)]
assert statuses[:20] == [200] * 20, statuses
refused = next(r for r in iter(lambda: client.get("/hello", headers={"X-API-Key": "fastapi"}), None) if r.status_code == 429)
assert int(refused.headers["Retry-After"]) >= 1 and refused.headers["RateLimit"].startswith('"key";r=0;t=')
assert refused.json()["status"] == 429
assert client.get("/hello").headers["RateLimit-Policy"] == '"address";q=100;w=60'

# A Tollgate that is away is no grant.
away = FastAPI()
away.add_middleware(RateLimit, url="redis://127.0.0.1:1")
assert TestClient(away).get("/hello").status_code == 503
print("fastapi: ok")
