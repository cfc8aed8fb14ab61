"""Asks Tollgate through redis-py: API key first, address second. Both middlewares use it."""

import math
from dataclasses import dataclass

import redis

# max_burst, count, period in seconds.
PER_KEY = (19, 10, 1)
PER_ADDRESS = (99, 100, 60)


@dataclass(frozen=True)
class Verdict:
    """What to do with a request. `allowed` is None if there is no decision, which is never a grant."""

    allowed: bool | None
    headers: dict[str, str]


class Limiter:
    """Safe to share between threads: redis-py keeps a pool of connections."""

    def __init__(self, url: str):
        self.redis = redis.Redis.from_url(url, socket_timeout=0.25, socket_connect_timeout=0.25)

    def check(self, api_key: str | None, address: str) -> Verdict:
        try:
            if api_key:
                return self._charge("key", f"api-key:{api_key}", PER_KEY)
            return self._charge("address", f"address:{address}", PER_ADDRESS)
        except redis.RedisError:
            return Verdict(None, {"Retry-After": "1"})

    def _charge(self, name: str, key: str, numbers: tuple[int, int, int]) -> Verdict:
        burst, count, period = numbers
        limited, limit, remaining, retry, reset = self.redis.execute_command("CL.THROTTLE", key, *numbers)
        window = max(1, math.ceil((burst + 1) * period / count))
        headers = {
            "RateLimit-Policy": f'"{name}";q={limit};w={window}',
            "RateLimit": f'"{name}";r={remaining};t={retry if limited else reset}',
            "X-RateLimit-Limit": str(limit),
            "X-RateLimit-Remaining": str(remaining),
            "X-RateLimit-Reset": str(reset),
        }
        if limited:
            headers["Retry-After"] = str(max(1, retry))
            headers["Cache-Control"] = "no-store"
        return Verdict(not limited, headers)
