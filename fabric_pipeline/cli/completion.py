"""What the shell offers after TAB: drops, racks, nodes, links, incidents and tickets of this home.

A completion never prints an error and never takes longer than a keystroke may: whatever goes wrong
offers nothing. Names come from `store.quick_names`, which leaves out what a shell would have to quote.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Callable, Iterator, MutableMapping
from pathlib import Path

import typer
import typer.core

Offer = list[tuple[str, str]]
_COMPLETE = "_FABRIC_PIPELINE_COMPLETE"


def drop_names(incomplete: str) -> Offer:
    """Drops, the one read last first."""
    from fabric_pipeline.store.quick_names import drop_ids

    return _offered(lambda lake, _: [(name, "") for name in drop_ids(lake)], incomplete)


def rack_names(ctx: typer.Context, incomplete: str) -> Offer:
    """Racks of the drop on the line, else of the one read last."""
    return _fabric(ctx, "rack", incomplete)


def node_names(ctx: typer.Context, incomplete: str) -> Offer:
    """Nodes of the drop."""
    return _fabric(ctx, "node", incomplete)


def link_names(ctx: typer.Context, incomplete: str) -> Offer:
    """Nodes first, then the link ends of the one that is meant: a fabric has too many for one list."""
    if ":" in incomplete:
        return _fabric(ctx, "link", incomplete)
    nodes = [name for name, _ in _fabric(ctx, "node", incomplete)]
    switches = [one for one in _fabric(ctx, "link", incomplete) if ":" not in one[0]]
    if len(nodes) == 1:
        return [*_fabric(ctx, "link", f"{nodes[0]}:"), *switches]
    return [*((f"{name}:", "") for name in nodes), *switches]


def incident_names(incomplete: str) -> Offer:
    """Incidents with their severity."""
    from fabric_pipeline.store.quick_names import incident_ids

    return _offered(lambda _, ledger: incident_ids(ledger), incomplete)


def ticket_names(incomplete: str) -> Offer:
    """Current tickets with their drop."""
    from fabric_pipeline.store.quick_names import ticket_ids

    return _offered(lambda _, ledger: ticket_ids(ledger), incomplete)


def whole_words(environ: MutableMapping[str, str]) -> str:
    """Join what bash took apart at `:` and `=`, and return what it already has of the last word.

    Bash breaks words there, so that `node:gpu5/nvlink-11` comes as three of them and only the last one
    would be replaced. Returns the part up to the last colon, "" when there is none.
    """
    line = environ.get("COMP_WORDS", "")
    words = re.split(r"[ \n]", line)
    if environ.get(_COMPLETE) != "complete_bash" or not {":", "="} & set(words):
        return ""
    place = min(int(environ.get("COMP_CWORD") or 0), len(words) - 1)
    joined: list[str] = []
    before = ""
    for number, word in enumerate(words[: place + 1]):
        if joined and ":" in (word, before):
            joined[-1] += word
        elif word != "=" or not joined or not joined[-1].startswith("--"):
            joined.append(word)
        elif number == place:
            joined.append("")
        before = word
    environ["COMP_WORDS"] = "\n".join(joined)
    environ["COMP_CWORD"] = str(len(joined) - 1)
    return joined[-1][: joined[-1].rfind(":") + 1]


def is_completing() -> bool:
    """True when the shell asks, not a person."""
    return os.environ.get(_COMPLETE, "").startswith("complete_")


def offer(app: Callable[[], object]) -> str:
    """What the command line offers for the words in the environment; nothing when that fails."""
    heard = io.StringIO()
    start = whole_words(os.environ)
    # SystemExit too: the command line ends so after it has answered.
    with (
        contextlib.redirect_stdout(heard),
        contextlib.redirect_stderr(io.StringIO()),
        contextlib.suppress(Exception, SystemExit),
        _words_as_they_stand(),
    ):
        app()
    text = heard.getvalue()
    return re.sub(f"^{re.escape(start)}", "", text, flags=re.MULTILINE) if start else text


@contextlib.contextmanager
def _words_as_they_stand() -> Iterator[None]:
    """Leave out typer's check of values, which is of no use for a half-written line.

    The check loads pydantic: a third of the time of a completion. Where a version of typer has no such
    place, nothing is changed.
    """
    checked = getattr(typer.core, "_TyperParameter", None)
    usual = getattr(checked, "process_value", None)
    if checked is None or usual is None:
        yield
        return
    checked.process_value = lambda _self, _ctx, value: value
    try:
        yield
    finally:
        checked.process_value = usual


def _fabric(ctx: typer.Context, kind: str, incomplete: str) -> Offer:
    from fabric_pipeline.store.quick_names import drop_ids, fabric_names

    def read(lake: Path, _: Path) -> Offer:
        drop = ctx.params.get("drop") or next(iter(drop_ids(lake)), "")
        return [(name, "") for name in fabric_names(lake, drop, kind, incomplete)]

    return _offered(read, incomplete)


def _offered(read: Callable[[Path, Path], Offer], incomplete: str) -> Offer:
    """What begins as the word on the line does; nothing when it cannot be read."""
    with contextlib.suppress(Exception):
        from fabric_pipeline.settings import load_settings

        settings = load_settings()
        found = read(settings.lake, settings.ledger)
        return [(name, more) for name, more in found if name.startswith(incomplete)]
    return []
