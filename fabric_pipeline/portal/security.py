"""What every request passes before a page is made: host, origin, size, identity; and the answer's headers.

A foreign page cannot post here, another name for this address is refused, and no answer may load or run
anything that does not come from this portal.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fabric_pipeline.portal.identity import Auth, has_bearer, visitor

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
}
# Made without templates, settings or tables: whatever failed, this page must not.
FAILED = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Something failed · fabric_pipeline</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/static/base.css"></head>
<body><main id="main"><h1>This page could not be made</h1>
<p class="lead">The cause is in the log of the portal. If you sent a form, look at its page before you send it again.</p>
<p><a href="/">To the map</a></p></main></body></html>
"""
SAFE_METHODS = frozenset({"GET", "HEAD"})
# A ticket with every text at its limit is some 20 kB as a form; the rest is room for encoding.
MAX_BODY_BYTES = 256 * 1024
# A name or an address in brackets, with or without a port; anything after that is another name.
_HOST = re.compile(r"(?P<name>[a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\])(:[0-9]{1,5})?")
# The largest form on a slow line; a form that never ends would hold its place for ever.
BODY_WITHIN_S = 20.0
# Open to everybody: they show nothing of the fabric, and the login page needs them.
OPEN_PATHS = ("/static/", "/healthz", "/login")


class Guard:
    """ASGI middleware around the whole portal."""

    def __init__(self, app: ASGIApp, auth: Auth, hosts: frozenset[str]) -> None:
        """`hosts` are the names under which the portal may be asked, without a port."""
        self.app, self.auth, self.hosts = app, auth, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or hand on with the visitor in `request.state.visitor`."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        respond = _with_headers(send, scope["path"])
        refusal = self._refusal(request)
        if refusal is not None:
            await refusal(scope, receive, respond)
            return
        scope.setdefault("state", {})["visitor"] = visitor(request, self.auth)
        told = _Told(respond)
        try:
            await self.app(scope, _bounded(receive), told)
        except Exception:
            # The cause goes to the log, with its trace, by whoever serves; the reader gets a way on.
            if not told.is_started:
                await HTMLResponse(FAILED, 500)(scope, receive, respond)
            raise

    def _refusal(self, request: Request) -> Response | None:
        if host_name(request.headers) not in self.hosts:
            return PlainTextResponse("this portal is not known under that name", 400)
        if request.method not in SAFE_METHODS and request.method != "POST":
            return PlainTextResponse("only GET and POST are answered here", 405)
        if request.method == "POST" and not comes_from_here(request):
            return PlainTextResponse("a form of another page is not taken", 403)
        length = request.headers.get("content-length", "0")
        if not length.isdigit() or int(length) > MAX_BODY_BYTES:
            return PlainTextResponse("the form is too large", 413)
        is_open = request.url.path.startswith(OPEN_PATHS)
        if not is_open and not visitor(request, self.auth).is_known:
            if self.auth.mode == "token" and wants_a_page(request):
                return RedirectResponse("/login", 303)
            return PlainTextResponse("who you are is not known to this portal", 401)
        return None


def host_name(headers: Headers) -> str:
    """The name in the Host header, small, without a port; "" when there is not exactly one."""
    given = headers.getlist("host")
    if len(given) != 1:
        return ""
    found = _HOST.fullmatch(given[0].strip().lower())
    return found["name"] if found else ""


def comes_from_here(request: Request) -> bool:
    """True when a page of this portal sent the form, or a program that brings its own secret.

    Browsers say where a request comes from in Sec-Fetch-Site; older ones in Origin. A request with
    neither is refused unless it carries a bearer token and no cookie.
    """
    sites = request.headers.getlist("sec-fetch-site")
    if sites:
        return sites == ["same-origin"]
    origin = request.headers.get("origin")
    if origin is not None:  # the scheme may differ behind a proxy that ends TLS
        return origin.partition("://")[2] == request.headers.get("host", "")
    return has_bearer(request) and not request.headers.get("cookie")


def wants_a_page(request: Request) -> bool:
    """True for a person who opens a page; a program that asks gets a status instead of a form."""
    is_document = request.headers.get("sec-fetch-dest", "document") == "document"
    return (
        request.method == "GET" and is_document and "text/html" in request.headers.get("accept", "")
    )


class _Told:
    """A `send` that remembers whether the answer has begun."""

    def __init__(self, send: Send) -> None:
        self._send, self.is_started = send, False

    async def __call__(self, message: Message) -> None:
        self.is_started = self.is_started or message["type"] == "http.response.start"
        await self._send(message)


def _with_headers(send: Send, path: str) -> Send:
    async def respond(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            kept = "public, max-age=3600" if path.startswith("/static/") else "no-store"
            headers.setdefault("cache-control", kept)
        await send(message)

    return respond


def _bounded(receive: Receive) -> Callable[[], Awaitable[Message]]:
    """The body, as long as it stays within its limits of size and time; what is longer is cut off.

    After the body the time no longer counts: a long download waits here for its reader to leave.
    """
    taken, is_whole = 0, False
    until = time.monotonic() + BODY_WITHIN_S

    async def bounded() -> Message:
        nonlocal taken, is_whole
        if is_whole:
            return await receive()
        try:
            message = await asyncio.wait_for(receive(), max(0.0, until - time.monotonic()))
        except TimeoutError:
            return {"type": "http.disconnect"}
        taken += len(message.get("body", b""))
        if taken > MAX_BODY_BYTES:
            return {"type": "http.disconnect"}
        is_whole = not message.get("more_body", False)
        return message

    return bounded
