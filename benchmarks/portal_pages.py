"""How heavy and how fast the portal's pages are, against the budgets of the design notes, as one table.

Takes homes that exist already, or makes one of 1,000 nodes. Bytes and elements are exact; times are the
best of several tries, because a machine that does other things as well only ever adds to them.
"""

from __future__ import annotations

import argparse
import gzip
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from playwright.sync_api import Page, sync_playwright

from fabric_pipeline.portal.app import create_app
from fabric_pipeline.settings import Settings, project_root
from fabric_pipeline.workflows.fabric_view import load_fabric_view
from fabric_pipeline_tests.portal.conftest import CHROMIUM, CHROMIUM_ARGS
from fabric_pipeline_tests.portal.large_fabric import large_home
from fabric_pipeline_tests.portal.serving import served

TRIES = 5
PATIENCE_S = 300
SETTLE_MS = 400
PAINT = f"""() => new Promise((done) => {{
  let last = 0;
  new PerformanceObserver((list) => {{ for (const entry of list.getEntries()) last = entry.startTime; }})
    .observe({{type: "largest-contentful-paint", buffered: true}});
  setTimeout(() => done(last), {SETTLE_MS});
}})"""
# Zoomed in, then moved back and forth by keys; the time from frame to frame is what a person feels.
PAN = """() => new Promise((done) => {
  const frame = document.querySelector("[data-map]"), times = [];
  if (!frame) { done([]); return; }
  const press = (key) => frame.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
  for (let n = 0; n < 3; n += 1) press("+");
  let last = 0;
  const step = (now) => {
    if (last) times.push(now - last);
    last = now;
    if (times.length === 48) { done(times); return; }
    press(times.length % 16 < 8 ? "ArrowRight" : "ArrowLeft");
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})"""


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that a page may take: kB compressed, ms to the largest paint, ms a frame (0 for none)."""

    kb: float
    paint_ms: float
    frame_ms: float
    cold_ms: float
    warm_ms: float


# portal.md section 4 and 9: a fabric page, and 1,000 nodes.
SMALL = Budget(kb=30, paint_ms=500, frame_ms=40, cold_ms=1_500, warm_ms=50)
LARGE = Budget(kb=100, paint_ms=1_000, frame_ms=40, cold_ms=1_500, warm_ms=50)
HEAD = (
    "page",
    "kB gz",
    "elements",
    "cold ms",
    "cold CPU",
    "warm ms",
    "warm CPU",
    "LCP ms",
    "pan p50",
    "pan p95",
)
PATHS = ("/", "/?mask=errors", "/?mask=width", "/matrix")


def main() -> None:
    """Print one row a page, each figure with its share of the budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", type=Path, nargs="*", help="homes to measure besides 1,000 nodes")
    parser.add_argument("--tries", type=int, default=TRIES)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, _browser() as page:
        homes = [Settings(root=project_root(), home=home.resolve()) for home in given.home]
        if not any(_is_large(home) for home in homes):
            homes.append(large_home(Path(folder), 1000))
        rows = [row for home in homes for row in measured(page, home, given.tries)]
    sys.stdout.write(table(rows))


def measured(page: Page, settings: Settings, tries: int) -> Iterator[Sequence[str]]:
    """Rows of one home; the first page of a fresh portal reads the fabric, which is its cold time."""
    budget = LARGE if _is_large(settings) else SMALL
    cold = [_cold(settings) for _ in range(tries)]
    with served(create_app(settings)) as address:
        _get(address, "/")
        nodes = f"{len(load_fabric_view(settings).nodes):,}"
        for path in PATHS:
            yield _row(f"{nodes} nodes {path}", path, cold, budget, page, address, tries)


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns of equal width; in brackets the share of the budget."""
    lines = [HEAD, *rows]
    wide = [max(len(line[n]) for line in lines) for n in range(len(HEAD))]
    said = ["  ".join(cell.rjust(w) if n else cell.ljust(w) for n, (cell, w) in enumerate(zip(line, wide, strict=True)))
            for line in lines]  # fmt: skip
    return "\n".join(said) + "\n"


def _row(
    name: str,
    path: str,
    cold: Sequence[tuple[float, float]],
    budget: Budget,
    page: Page,
    address: str,
    tries: int,
) -> list[str]:
    _get(address, path)
    warm = [_timed(lambda: _get(address, path)) for _ in range(tries)]
    body = _get(address, path)
    paints, frames, slow, elements = [], [], [], 0
    for _ in range(tries):
        page.goto(address + path)
        paints.append(float(page.evaluate(PAINT)))
        times = page.evaluate(PAN)
        if times:
            frames.append(statistics.median(times))
            slow.append(sorted(times)[int(len(times) * 0.95)])
        elements = page.evaluate("() => document.querySelectorAll('*').length")
    first = path == "/"
    return [
        name,
        _of(len(gzip.compress(body)) / 1024, budget.kb),
        f"{elements:,}",
        _of(min(wall for wall, _ in cold), budget.cold_ms) if first else "",
        _of(min(cpu for _, cpu in cold), budget.cold_ms) if first else "",
        _of(min(wall for wall, _ in warm), budget.warm_ms),
        _of(min(cpu for _, cpu in warm), budget.warm_ms),
        _of(min(paints), budget.paint_ms),
        _of(min(frames), budget.frame_ms) if frames else "",
        f"{min(slow):.0f}" if slow else "",
    ]


def _cold(settings: Settings) -> tuple[float, float]:
    with served(create_app(settings)) as address:
        return _timed(lambda: _get(address, "/"))


def _get(address: str, path: str) -> bytes:
    """One page; a loaded machine may take its time."""
    with urlopen(address + path, timeout=PATIENCE_S) as answer:  # noqa: S310 - our own server
        body: bytes = answer.read()
        return body


def _timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Wall and processor time in ms; the portal runs in this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return (time.perf_counter() - wall) * 1000, (time.process_time() - cpu) * 1000


def _of(value: float, budget: float) -> str:
    return f"{value:.0f} ({value / budget:.0%})"


def _is_large(settings: Settings) -> bool:
    """A home whose topology takes more than half a megabyte; one of 8 nodes takes a tenth of that."""
    parts = settings.lake.glob("fabric_topology/drop=*/part.parquet")
    return any(part.stat().st_size > 500_000 for part in parts)


@contextmanager
def _browser() -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=list(CHROMIUM_ARGS)
        )
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(PATIENCE_S * 1000)
        yield page
        browser.close()


if __name__ == "__main__":
    main()
