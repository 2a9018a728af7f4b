"""Forms that people send: read once, kept as plain texts, handed to a handler in a thread.

Who sends a form is decided in `identity`; which fields a form has is the business of its page.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from fabric_pipeline.errors import UsageError
from fabric_pipeline.portal.pages import visitor_of

Form = Mapping[str, str]
Handler = Callable[[Request, Form], Response]
# The form of a ticket with every list at its limit has some 160 fields.
MAX_FIELDS = 400


def posted(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that reads the form and runs the handler in a thread; a file is no field.

    A field that is sent twice counts with its last value. Line ends are those of Python.
    """

    async def endpoint(request: Request) -> Response:
        try:
            async with request.form(max_files=0, max_fields=MAX_FIELDS) as sent:
                form = {
                    name: value.replace("\r\n", "\n").replace("\r", "\n")
                    for name, value in sent.multi_items()
                    if isinstance(value, str)
                }
        except (MultiPartException, ClientDisconnect) as error:
            raise HTTPException(400) from error
        return await run_in_threadpool(handler, request, form)

    endpoint.__name__ = handler.__name__
    return endpoint


def person(request: Request, form: Form, field: str) -> str:
    """The name of who sends a form: from the proxy where there is one, else as typed."""
    visitor = visitor_of(request)
    return visitor.name if visitor.mode == "proxy" else form.get(field, "").strip()


def moment(text: str) -> datetime | None:
    """A time of a `datetime-local` field, which is asked for in UTC; None when it was left empty."""
    if not text.strip():
        return None
    try:
        read = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(
            "the time is not a date with hours and minutes", "write it as 2026-11-20T14:30"
        ) from None
    return read.replace(tzinfo=UTC) if read.tzinfo is None else read
