"""A real Chromium that prints and measures pages, driven over its debugging pipe.

One browser serves all pages of a test file. Measuring runs in the browser's own context, so pages
need no script of theirs and their content security policy stays as it is.
"""

from __future__ import annotations

import base64
import json
import os
import re
import struct
import subprocess
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fabric_pipeline_tests import chromium

_WIRE = (
    "import os,sys; r,w=map(int,sys.argv[1:3]); os.dup2(r,3); os.dup2(w,4);"
    "os.execvp(sys.argv[3],sys.argv[3:])"
)
_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--disable-extensions",
)  # fmt: skip
# Smallest text, texts cut off by a box, bottom of the last content, width of what sticks out, and how
# much of the page is used: all but the room between each column of the body and the lines to sign on.
_MEASURE = """document.fonts.ready.then(() => {
  const all = [...document.body.querySelectorAll('*')].filter(e => !e.closest('svg'));
  const own = e => [...e.childNodes].some(n => n.nodeType == 3 && n.data.trim());
  const words = all.filter(own);
  const box = document.querySelector('main').getBoundingClientRect();
  const px = e => parseFloat(getComputedStyle(e).fontSize);
  const edge = (css, side) => document.querySelector(css)?.getBoundingClientRect()[side] ?? 0;
  const above = css => parseFloat(getComputedStyle(document.querySelector(css) ?? document.head).marginTop);
  const taken = edge('.cut', 'height') + above('.cut') + edge('.notes', 'height');
  const ends = [...document.querySelectorAll('.body > div')].map(column =>
    edge('.sign', 'top') - taken - Math.max(...[...column.children].map(e => e.getBoundingClientRect().bottom)));
  return JSON.stringify({
    used: 1 - ends.reduce((sum, end) => sum + end, 0) / 2 / box.height, free_pt: Math.min(...ends) * 0.75,
    fonts: [...document.fonts].filter(f => f.status == 'loaded').map(f => f.family.replaceAll('"', '') + ' ' + f.weight),
    smallest_pt: Math.min(...words.map(px)) * 0.75,
    outside: words.filter(e => e.getBoundingClientRect().right > box.right + 1).map(e => e.outerHTML.slice(0, 200)),
    overflowing: all.filter(e => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display != 'inline').map(e => e.outerHTML.slice(0, 200)),
    height_px: box.height, text: document.body.innerText, scripts: document.scripts.length, dialogs: window.__seen || 0,
    violations: window.__csp || [],
  });
})"""
_BOX = """(() => { const b = document.querySelector('%s').getBoundingClientRect();
  return JSON.stringify([b.x, b.y, b.width, b.height]) })()"""
_WATCH = (
    "window.__csp=[];document.addEventListener('securitypolicyviolation',"
    "e=>window.__csp.push(e.violatedDirective));window.alert=()=>{window.__seen=1}"
)


@dataclass(frozen=True)
class Printed:
    """One page as printed: its PDF, and what was measured in it."""

    pdf: bytes
    measured: dict[str, Any]

    @property
    def pages(self) -> int:
        """Page objects in the PDF."""
        return len(re.findall(rb"/Type\s*/Page\b(?!s)", self.pdf))

    @property
    def size_mm(self) -> tuple[float, float]:
        """Width and height of the first page."""
        found = re.search(rb"/MediaBox\s*\[\s*0\s+0\s+([\d.]+)\s+([\d.]+)\s*\]", self.pdf)
        assert found is not None
        return float(found[1]) / 72 * 25.4, float(found[2]) / 72 * 25.4


class Browser:
    """Chromium over its pipe. `only_fonts` hides every font family outside that folder."""

    def __init__(self, home: Path, only_fonts: Path | None = None) -> None:
        env = {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
        if only_fonts is not None:
            config = home / "fonts.conf"
            config.write_text(
                f"<fontconfig><dir>{only_fonts}</dir><cachedir>{home}/fc</cachedir></fontconfig>"
            )
            env["FONTCONFIG_FILE"] = str(config)
        reads, self._send = os.pipe()
        self._receive, writes = os.pipe()
        words = [str(chromium.required()), *_FLAGS, f"--user-data-dir={home / 'profile'}"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _WIRE, str(reads), str(writes), *words],
            pass_fds=(reads, writes), env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(reads)
        os.close(writes)
        self._number, self._buffer, self._session = 0, b"", ""
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        self._ask("Page.enable")
        self._ask("Page.addScriptToEvaluateOnNewDocument", source=_WATCH)

    def show(self, html: str, folder: Path) -> Printed:
        """Load the page from a file, print it, take its picture and measure it."""
        self._ask(
            "Emulation.setDeviceMetricsOverride", width=794, height=1123, deviceScaleFactor=2, mobile=False
        )  # fmt: skip
        self._load(html, folder)
        measured = self.evaluate(_MEASURE)
        pdf = self._ask("Page.printToPDF", preferCSSPageSize=True, printBackground=False)["data"]
        return Printed(base64.b64decode(pdf), measured)

    def widths_em(self, html: str, folder: Path) -> list[float]:
        """Widths of all `span` elements of a page that is set in 1000 CSS pixels, in multiples of that."""
        self._load(html, folder)
        spans = "[...document.querySelectorAll('span')].map(e => e.getBoundingClientRect().width / 1000)"
        widths = self.evaluate(f"document.fonts.ready.then(() => JSON.stringify({spans}))")
        return [float(width) for width in widths]

    def evaluate(self, expression: str) -> Any:
        """Value of an expression, or of its promise, that gives JSON on the page shown last."""
        answer = self._ask("Runtime.evaluate", expression=expression, awaitPromise=True)
        return json.loads(answer["result"]["value"])

    def picture(self, selector: str = "html", width: float = 794) -> bytes:
        """PNG of the first element that the selector finds on the page shown last, at double size.

        No wider than `width` CSS pixels.
        """
        box = self.evaluate(_BOX % selector)
        clip = {"x": box[0], "y": box[1], "width": min(box[2], width), "height": box[3], "scale": 1}
        shot = self._ask(
            "Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True
        )
        return base64.b64decode(shot["data"])

    def close(self) -> None:
        """End the browser and wait for it."""
        self._ask("Browser.close", whole=True)
        self._process.wait(20)
        os.close(self._send)
        os.close(self._receive)

    def _load(self, html: str, folder: Path) -> None:
        page = folder / "page.html"
        page.write_text(html, encoding="utf-8")
        self._ask("Page.navigate", url=page.as_uri())
        self._wait("Page.loadEventFired")

    def _ask(self, method: str, *, whole: bool = False, **params: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session and not whole:
            message["sessionId"] = self._session
        os.write(self._send, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return dict(answer["result"])

    def _wait(self, event: str) -> None:
        while self._next().get("method") != event:
            pass

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            chunk = os.read(self._receive, 1 << 20)
            assert chunk, "the browser is gone"
            self._buffer += chunk
        message, self._buffer = self._buffer.split(b"\0", 1)
        return dict(json.loads(message))


def grey_of(png: bytes) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Rows of grey values of an 8-bit RGB or RGBA picture without interlacing (RFC 2083)."""
    width, height, depth, colour = struct.unpack(">IIBB", png[16:26])
    assert (depth, colour in (2, 6), png[28]) == (8, True, 0)
    at, data = 8, b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        data += png[at + 8 : at + 8 + length] if kind == b"IDAT" else b""
        at += 12 + length
    step = 3 if colour == 2 else 4
    rows = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, 1 + width * step)
    out = np.zeros((height, width, step), np.uint8)
    before = np.zeros((width, step), np.uint8)
    for number, row in enumerate(rows):
        before = _unfilter(int(row[0]), row[1:].reshape(width, step), before)
        out[number] = before
    return np.ascontiguousarray(out[:, :, :3].mean(axis=2).astype(np.uint8))


def _unfilter(kind: int, row: Any, above: Any) -> Any:
    if kind == 0:
        return row.copy()
    if kind == 1:
        return np.cumsum(row.astype(np.uint32), axis=0).astype(np.uint8)
    if kind == 2:
        return row + above
    done = np.zeros_like(row)
    left = corner = np.zeros(row.shape[1], np.int32)
    for x in range(len(row)):
        up = above[x].astype(np.int32)
        guess = (left + up) // 2 if kind == 3 else _paeth(left, up, corner)
        done[x] = (row[x] + guess).astype(np.uint8)
        left, corner = done[x].astype(np.int32), up
    return done


def _paeth(left: Any, up: Any, corner: Any) -> Any:
    base = left + up - corner
    far = [abs(base - left), abs(base - up), abs(base - corner)]
    return np.where(
        (far[0] <= far[1]) & (far[0] <= far[2]), left, np.where(far[1] <= far[2], up, corner)
    )
