"""FastAPI: `app.add_middleware(RateLimit, url="redis://127.0.0.1:6380")`."""

from starlette.concurrency import run_in_threadpool
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.responses import JSONResponse

from tollgate_limit import Limiter

TOO_MANY = "https://iana.org/assignments/http-problem-types#quota-exceeded"


class RateLimit(BaseHTTPMiddleware):
    def __init__(self, app, url: str):
        super().__init__(app)
        self.limiter = Limiter(url)

    async def dispatch(self, request, call_next):
        # The peer. Behind a proxy, run uvicorn with --proxy-headers and --forwarded-allow-ips.
        address = request.client.host if request.client else "unknown"
        verdict = await run_in_threadpool(self.limiter.check, request.headers.get("x-api-key"), address)
        if verdict.allowed:
            response = await call_next(request)
        elif verdict.allowed is None:
            response = JSONResponse({"title": "No decision on the rate limit", "status": 503}, 503)
        else:
            body = {"type": TOO_MANY, "title": "Rate limit exceeded", "status": 429}
            response = JSONResponse(body, 429, media_type="application/problem+json")
        response.headers.update(verdict.headers)
        return response
