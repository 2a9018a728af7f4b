"""Pages `/login` and `/logout` of the token mode: a token is traded for a cookie, and given back.

In the other modes nobody signs in here, and the page says how people are known instead. Whether a
request is let in is decided in `portal.identity`.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from fabric_pipeline.portal.identity import TOKEN_COOKIE, is_loopback, is_token
from fabric_pipeline.portal.pages import page, portal_of

_LONGEST = 400


def _form(request: Request) -> Response:
    return page(request, "login.html", mode=portal_of(request).auth.mode, refused=False)


async def _sign_in(request: Request) -> Response:
    """Trade the token for a cookie that scripts cannot read and other pages cannot send."""
    auth = portal_of(request).auth
    form = await request.form()
    given = str(form.get("token", ""))[:_LONGEST]
    if auth.mode != "token" or not is_token(auth, given):
        return page(request, "login.html", status=403, mode=auth.mode, refused=True)
    response = RedirectResponse("/", 303)
    response.set_cookie(
        TOKEN_COOKIE,
        given,
        httponly=True,
        samesite="strict",
        secure=not is_loopback(request.url.hostname or ""),
    )
    return response


def _sign_out(_request: Request) -> Response:
    """Give the cookie back; the token itself stays as it is."""
    response = RedirectResponse("/login", 303)
    response.delete_cookie(TOKEN_COOKIE, httponly=True, samesite="strict")
    return response


ROUTES = [
    Route("/login", _form),
    Route("/login", _sign_in, methods=["POST"]),
    Route("/logout", _sign_out, methods=["POST"]),
]
