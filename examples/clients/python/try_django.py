"""Runs the Django middleware in front of one view, against the Tollgate at the port in the first argument."""

import sys

import django
from django.conf import settings
from django.http import HttpResponse
from django.urls import path

settings.configure(
    TOLLGATE_URL=f"redis://127.0.0.1:{sys.argv[1]}",
    ALLOWED_HOSTS=["testserver"],
    ROOT_URLCONF=__name__,
    MIDDLEWARE=["django_middleware.RateLimit"],
)
urlpatterns = [path("hello", lambda request: HttpResponse("hello"))]
django.setup()

from django.test import Client  # noqa: E402, after the settings

client = Client()
statuses = [client.get("/hello", headers={"X-API-Key": "django"}).status_code for _ in range(25)]
assert statuses.count(200) >= 20 and statuses[:20] == [200] * 20, statuses
refused = next(r for r in iter(lambda: client.get("/hello", headers={"X-API-Key": "django"}), None) if r.status_code == 429)
assert int(refused["Retry-After"]) >= 1 and refused["RateLimit"].startswith('"key";r=0;t='), refused.headers
assert refused["RateLimit-Policy"] == '"key";q=20;w=2', refused.headers
other = client.get("/hello")
assert other.status_code == 200 and other["RateLimit-Policy"] == '"address";q=100;w=60', other.headers
print("django: ok")
