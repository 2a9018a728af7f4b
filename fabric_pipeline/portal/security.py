"""What every request passes before a page is made: host, origin, size, identity; and the answer's headers.

A foreign page cannot post here, another name for this address is refused, and no answer may load or run
anything that does not come from this portal.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
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
SAFE_METHODS = frozenset({"GET", "HEAD"})
# A ticket with every text at its limit is some 20 kB as a form; the rest is room for encoding.
MAX_BODY_BYTES = 256 * 1024
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
        await self.app(scope, _bounded(receive), respond)

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
            return PlainTextResponse("who you are is not known to this portal", 401)
        return None


def host_name(headers: Headers) -> str:
    """The name in the Host header, small, without a port; "" when there is not exactly one."""
    given = headers.getlist("host")
    if len(given) != 1:
        return ""
    host = given[0].strip().lower()
    bracket = host.rfind("]")
    return host[: bracket + 1] if bracket != -1 else host.partition(":")[0]


def comes_from_here(request: Request) -> bool:
    """True when a page of this portal sent the form, or a program that brings its own secret.

    Browsers say where a request comes from in Sec-Fetch-Site; older ones in Origin. A request with
    neither is refused unless it carries a bearer token and no cookie.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = request.headers.get("origin")
    if origin is not None:  # the scheme may differ behind a proxy that ends TLS
        return origin.partition("://")[2] == request.headers.get("host", "")
    return has_bearer(request) and not request.headers.get("cookie")


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
    """The body, as long as it stays within the limit also when no length was announced."""
    taken = 0

    async def bounded() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > MAX_BODY_BYTES:
            return {"type": "http.disconnect"}
        return message

    return bounded
