"""How heavy and how fast the portal's maps are: bytes, elements, largest paint, and frames while panning.

Takes homes that exist already; prints one row a page. A home of 1,000 nodes is made in seconds by
`fabric_pipeline_tests.portal.large_fabric`.
"""

from __future__ import annotations

import argparse
import gzip
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from fabric_pipeline.portal.app import create_app
from fabric_pipeline.settings import Settings, project_root
from fabric_pipeline_tests.portal.conftest import CHROMIUM, CHROMIUM_ARGS
from fabric_pipeline_tests.portal.serving import served

PAINT = """() => new Promise((done) => {
  let last = 0;
  new PerformanceObserver((list) => { for (const entry of list.getEntries()) last = entry.startTime; })
    .observe({type: "largest-contentful-paint", buffered: true});
  setTimeout(() => done(last), 400);
})"""
# Zoomed in, then moved back and forth by keys; the time from frame to frame is what a person feels.
PAN = """() => new Promise((done) => {
  const frame = document.querySelector("[data-map]"), times = [];
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


def measure(page: Page, address: str) -> dict[str, Any]:
    """Figures of one page; it was asked for once before, so that the fabric is in memory."""
    page.goto(address)
    began = time.perf_counter()
    body = page.request.get(address).body()
    server_ms = (time.perf_counter() - began) * 1000
    page.goto(address)
    paint = page.evaluate(PAINT)
    frames = page.evaluate(PAN)
    return {
        "kB_gz": round(len(gzip.compress(body)) / 1024, 1),
        "elements": page.evaluate("() => document.querySelectorAll('*').length"),
        "server_ms": round(server_ms),
        "lcp_ms": round(paint),
        "pan_p50_ms": round(statistics.median(frames), 1),
        "pan_p95_ms": round(sorted(frames)[int(len(frames) * 0.95)], 1),
    }


def main() -> None:
    """Measure `/` and one rack of every home that is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", type=Path, nargs="+")
    homes: list[Path] = parser.parse_args().home
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=list(CHROMIUM_ARGS)
        )
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(60_000)
        for home in homes:
            with served(create_app(Settings(root=project_root(), home=home))) as address:
                for path in ("/", "/?mask=errors"):
                    row = measure(page, address + path)
                    sys.stdout.write(f"{home} {path} {row}\n")
        browser.close()


if __name__ == "__main__":
    main()
