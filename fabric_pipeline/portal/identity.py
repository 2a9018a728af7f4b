"""Who is asking: three ways of knowing, chosen when the portal starts.

`local` is for loopback alone and takes the name that a person types; `proxy` takes the name that a listed
proxy adds; `token` asks for a secret. Who may review what is decided in `incidents.review`.
"""

from __future__ import annotations

import hmac
import ipaddress
from dataclasses import dataclass
from typing import Literal, cast, get_args

from starlette.requests import Request

from fabric_pipeline.errors import UsageError

AuthMode = Literal["local", "proxy", "token"]
USER_HEADER = "x-forwarded-user"
TOKEN_COOKIE = "fabric_token"  # noqa: S105 - the name of a cookie, no secret
MIN_TOKEN = 24
_BEARER = "Bearer "
MAX_NAME = 200


@dataclass(frozen=True, slots=True)
class Auth:
    """How people are known. `proxies` are addresses or networks that may add the user header."""

    mode: AuthMode = "local"
    token: str = ""
    proxies: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Never prints the token."""
        return f"Auth(mode={self.mode!r}, proxies={self.proxies!r})"


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who asks. `name` is "" in the modes in which a person types it; `is_known` lets the request in."""

    name: str
    is_known: bool
    mode: AuthMode


def auth_mode(text: str) -> AuthMode:
    """The mode of this name; UsageError for another word."""
    for mode in get_args(AuthMode):
        if text == mode:
            return cast(AuthMode, mode)
    raise UsageError(
        f"{text!r} is no way of knowing people", f"choose one of {', '.join(get_args(AuthMode))}"
    )


def check_auth(auth: Auth, host: str) -> None:
    """UsageError unless this way of knowing people fits the address that is listened on."""
    if auth.mode == "local" and not is_loopback(host):
        raise UsageError(
            f"{host} can be reached from other machines, and nothing would say who decides there",
            "listen on 127.0.0.1, or choose --auth proxy with --proxy ADDRESS, or --auth token",
        )
    if auth.mode == "token" and len(auth.token) < MIN_TOKEN:
        raise UsageError(
            f"the portal's token is shorter than {MIN_TOKEN} characters",
            "put a long random text into FABRIC_PORTAL_TOKEN",
        )
    if auth.mode == "proxy" and not auth.proxies:
        raise UsageError("no proxy is listed", "name its address: --proxy 10.0.0.7")
    for proxy in auth.proxies:
        _network(proxy)


def is_loopback(host: str) -> bool:
    """True for names and addresses that only this machine reaches."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def visitor(request: Request, auth: Auth) -> Visitor:
    """The visitor behind a request, by the mode of this portal."""
    if auth.mode == "local":
        return Visitor("", is_known=True, mode="local")
    if auth.mode == "proxy":
        return _behind_proxy(request, auth)
    return Visitor("", is_known=_has_token(request, auth), mode="token")


def is_token(auth: Auth, given: str) -> bool:
    """True for the secret of this portal; takes as long for a near miss as for nonsense."""
    return bool(auth.token) and hmac.compare_digest(given.encode(), auth.token.encode())


def has_bearer(request: Request) -> bool:
    """True when a program brings its secret in the header, which no foreign page can make a browser do."""
    return request.headers.get("authorization", "").startswith(_BEARER)


def _behind_proxy(request: Request, auth: Auth) -> Visitor:
    """The header counts only when it comes from a listed address, and once."""
    peer = request.client.host if request.client else ""
    names = request.headers.getlist(USER_HEADER)
    listed = any(_is_within(peer, proxy) for proxy in auth.proxies)
    name = names[0].strip() if len(names) == 1 else ""
    known = listed and 0 < len(name) <= MAX_NAME and name.isprintable()
    return Visitor(name if known else "", is_known=known, mode="proxy")


def _has_token(request: Request, auth: Auth) -> bool:
    brought = request.headers.get("authorization", "")
    is_bearer = brought.startswith(_BEARER)
    given = brought.removeprefix(_BEARER) if is_bearer else request.cookies.get(TOKEN_COOKIE, "")
    return is_token(auth, given)


def _is_within(address: str, proxy: str) -> bool:
    try:
        return ipaddress.ip_address(address) in _network(proxy)
    except ValueError:
        return False


def _network(proxy: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(proxy, strict=False)
    except ValueError as error:
        raise UsageError(
            f"{proxy!r} is no address or network", "name one such as 10.0.0.7 or 10.0.0.0/24"
        ) from error
