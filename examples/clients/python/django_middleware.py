"""Django: add `django_middleware.RateLimit` to MIDDLEWARE, and TOLLGATE_URL = "redis://127.0.0.1:6380" to the settings."""

from django.conf import settings
from django.http import JsonResponse

from tollgate_limit import Limiter

TOO_MANY = "https://iana.org/assignments/http-problem-types#quota-exceeded"


class RateLimit:
    def __init__(self, get_response):
        self.get_response = get_response
        self.limiter = Limiter(settings.TOLLGATE_URL)

    def __call__(self, request):
        # REMOTE_ADDR is the peer. Behind a proxy, let the web server set it from the header that your proxy writes.
        verdict = self.limiter.check(request.headers.get("X-API-Key"), request.META["REMOTE_ADDR"])
        if verdict.allowed:
            response = self.get_response(request)
        elif verdict.allowed is None:
            response = JsonResponse({"title": "No decision on the rate limit", "status": 503}, status=503)
        else:
            body = {"type": TOO_MANY, "title": "Rate limit exceeded", "status": 429}
            response = JsonResponse(body, status=429, content_type="application/problem+json")
        for name, value in verdict.headers.items():
            response.headers[name] = value
        return response
