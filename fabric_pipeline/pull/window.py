"""One window of a server's telemetry, fetched into a drop; an interrupted fetch goes on where it stopped.

Each answer is a file, written whole under its name. The drop gets its own name only when all of it is
there, so that nobody reads half of it. Which metrics count is `sources.prometheus.wanted`'s to say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import yaml

from fabric_pipeline.errors import NotFoundError, UsageError
from fabric_pipeline.pull.answers import count_in, within
from fabric_pipeline.pull.plan import (
    Stretch,
    family_selector,
    samples_query,
    series_query,
    stretches,
)
from fabric_pipeline.pull.server import Server, TooMuchError
from fabric_pipeline.sources.prometheus.wanted import HOST_NAMES, is_wanted
from fabric_pipeline.store.filelock import locked

_PLAN = "plan.json"
_EVERYTHING = "everything"
# Names that need no quoting in a query; Prometheus 3 allows others, which no exporter that is read here uses.
_PLAIN_NAME = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]{0,200}")


@dataclass(frozen=True, slots=True)
class Wish:
    """What to fetch: label matchers as inside braces ("" for all), the window, and what the drop says of it."""

    window: Stretch
    matched: str = ""
    site: str = ""


@dataclass
class Pulled:
    """What came of it. `silent` are wanted metrics without a sample in the window; `reused` answers were there."""

    path: Path
    metrics: int = 0
    answers: int = 0
    reused: int = 0
    series: int = 0
    samples: int = 0
    version: str = ""
    silent: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def drop_name(window: Stretch) -> str:
    """`pull-20261130T0800Z-60m`: the end of the window and its length."""
    length = f"{window.seconds // 60}m" if window.seconds % 60 == 0 else f"{window.seconds}s"
    return f"pull-{window.until:%Y%m%dT%H%M%SZ}-{length}"


def pull_window(
    server: Server, wish: Wish, folder: Path, *, tell: Callable[[str], None] = lambda _: None
) -> Pulled:
    """Fetch the window into `folder/<drop name>`; a drop that is there already is not fetched again.

    Raises NotFoundError when the server holds nothing that is read here, UsageError when a drop or a
    fetch of another server or selector lies under the same name, FabricError when the server fails for good.
    """
    name = drop_name(wish.window)
    target, partial = folder / name, folder / f".{name}.partial"
    with locked(folder / f".{name}.lock"):
        if target.is_dir():
            _need_same_origin(target, server, wish)
            tell(f"{target} is there already, nothing was fetched")
            return Pulled(target)
        partial.mkdir(parents=True, exist_ok=True)
        _need_same_plan(partial / _PLAN, server, wish)
        done = Pulled(target, version=server.version())
        metrics = _metrics(server, wish)
        for number, metric in enumerate(metrics, 1):
            _pull_metric(server, wish, metric, partial, done)
            tell(f"{number} of {len(metrics)} metrics, {done.samples:,} samples: {metric}")
        if not done.samples:
            raise NotFoundError(
                f"{server.url} has no sample of any interconnect metric in this window",
                "look at the window and the label matchers",
            )
        (partial / "drop.yaml").write_text(_description(server, wish, done), encoding="utf-8")
        (partial / _PLAN).unlink()
        partial.rename(target)
    return done


def _metrics(server: Server, wish: Wish) -> list[str]:
    window = wish.window
    names = server.metric_names(family_selector(wish.matched), window.after, window.until)
    wanted = [name for name in names if _PLAIN_NAME.fullmatch(name) and is_wanted(name)]
    if not wanted:
        raise NotFoundError(
            f"{server.url} has no interconnect metric in this window ({len(names)} others of these exporters)",
            "dcgm-exporter, node_exporter and NCCL Inspector are read; look at the window and the label matchers",
        )
    return wanted


def _pull_metric(server: Server, wish: Wish, metric: str, partial: Path, done: Pulled) -> None:
    window, before = wish.window, done.samples
    middle = window.halves()[0].until if window.seconds >= 60 else window.until
    asked = series_query(metric, wish.matched)
    series = max(count_in(server.query(asked, at)) for at in (middle, window.until))
    for stretch in stretches(window, series):
        for name, body, counted in _answers(server, wish, metric, stretch, partial, done):
            temporary = partial / f".{name}"
            temporary.write_bytes(body)
            temporary.rename(partial / name)
            done.answers += counted
    done.metrics += done.samples > before
    if done.samples == before:
        done.silent.append(metric)


def _answers(
    server: Server, wish: Wish, metric: str, stretch: Stretch, partial: Path, done: Pulled
) -> Iterator[tuple[str, bytes, int]]:
    """File name and content of each answer that is needed for the stretch, halved where it is too much."""
    name = f"{metric.replace(':', '-')}.{stretch.after:%Y%m%dT%H%M%SZ}+{stretch.seconds}s.json"
    if (partial / name).is_file():
        done.reused += 1
        done.samples += _samples_in(partial / name)
        return
    try:
        answer = server.query(samples_query(metric, wish.matched, stretch), stretch.until)
    except TooMuchError as error:
        try:
            halves = stretch.halves()
        except ValueError:
            raise UsageError(
                f"{metric}: {stretch.seconds} s are more than the server gives in one answer ({error})",
                "narrow it with --match, one cluster or rack at a time",
            ) from error
        for half in halves:
            yield from _answers(server, wish, metric, half, partial, done)
        return
    kept = within(answer, stretch)
    done.warnings += [f"{metric}: {one}" for one in answer.warnings]
    done.series = max(done.series, kept.series)
    done.samples += kept.samples
    if kept.samples:
        yield name, _host_names(server, wish, metric, stretch.until) + kept.body, 1


def _host_names(server: Server, wish: Wish, metric: str, at: datetime) -> bytes:
    """An answer that names the hosts, in front of metrics that carry an address alone."""
    if not metric.startswith("node_") or metric == HOST_NAMES:
        return b""
    selector = f"{HOST_NAMES}{{{wish.matched}}}" if wish.matched else HOST_NAMES
    answer = server.query(selector, at)
    has_any = isinstance(answer.data, dict) and answer.data.get("result")
    return answer.body.rstrip() + b"\n" if has_any else b""


def _samples_in(path: Path) -> int:
    """Samples of an answer that was fetched earlier; pairs are counted, not trusted to a side file."""
    last = path.read_text(encoding="utf-8").strip().splitlines()[-1]
    return sum(len(one.get("values", [])) for one in json.loads(last)["data"]["result"])


def _need_same_plan(path: Path, server: Server, wish: Wish) -> None:
    plan = {
        "server": server.url,
        "matched": wish.matched,
        "after": wish.window.after.isoformat(),
        "until": wish.window.until.isoformat(),
    }
    if path.is_file() and json.loads(path.read_text(encoding="utf-8")) != plan:
        raise UsageError(
            f"{path.parent} holds a fetch of another server or selector",
            "finish that one, or remove the folder",
        )
    path.write_text(json.dumps(plan), encoding="utf-8")


def _need_same_origin(target: Path, server: Server, wish: Wish) -> None:
    """A drop of the same window from elsewhere, or of other labels, is not the one that was asked for."""
    path = target / "drop.yaml"
    said = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else None
    pulled = said.get("pull") if isinstance(said, dict) else None
    origin = {"server": server.url, "matched": wish.matched or _EVERYTHING}
    if not isinstance(pulled, dict) or any(pulled.get(key) != origin[key] for key in origin):
        raise UsageError(
            f"{target} was fetched from another server or with other label matchers",
            "name another folder with --out",
        )


def _description(server: Server, wish: Wish, done: Pulled) -> str:
    """`drop.yaml`: the window, and where it all came from."""
    said = {
        **({"site": wish.site} if wish.site else {}),
        "window": {
            "start": wish.window.after.isoformat(),
            "end": wish.window.until.isoformat(),
        },
        "timezone": "UTC",
        "pull": {
            "server": server.url,
            "version": done.version or "not told",
            "matched": wish.matched or _EVERYTHING,
            "metrics": done.metrics,
            "samples": done.samples,
            "without_samples": done.silent,
            "warnings": done.warnings[:50],
        },
    }
    return yaml.safe_dump(said, sort_keys=False, allow_unicode=True)
