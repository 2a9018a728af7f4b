"""Every page of the portal, dark and light, over the shipped drops and over a fabric of 1,000 nodes, for the docs.

`python -m demo.page_pictures docs/pictures/portal` runs the shipped drops in a home of its own, has one draft
edited, opens each page in Chromium and writes one WebP a page and theme. A page that answers with an
error, or writes one to the console, stops it.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote, urlencode

from PIL import Image
from playwright.sync_api import Browser, ConsoleMessage, sync_playwright

from fabric_pipeline.portal.app import create_app
from fabric_pipeline.settings import Settings, project_root
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.store.ledger_drafts import StoredDraft
from fabric_pipeline.workflows.fabric_view import load_fabric_view
from fabric_pipeline_tests.portal.conftest import CHROMIUM, CHROMIUM_ARGS
from fabric_pipeline_tests.portal.large_fabric import large_home
from fabric_pipeline_tests.portal.serving import served

THEMES = ("dark", "light")
WIDE, TALL, PHONE = (1440, 900), (1440, 1700), (390, 844)
SHOWN_WIDTH = 1080  # a page of the docs is not wider
FAULTY, HEALTHY, GAPS = "crc-multibit-lane", "healthy", "missing-data"
QUALITY = 75
SETTLE_MS = 900  # charts and matrix draw after the page has loaded


@dataclass(frozen=True, slots=True)
class Shot:
    """One picture: file name, path and query of the page, size of the window, whole page or what fits."""

    name: str
    address: str
    size: tuple[int, int] = WIDE
    whole: bool = False


def small_shots(settings: Settings) -> list[Shot]:
    """The pages over the shipped drops; names come from what the run found."""
    ticket = _ticket(settings)
    incident = f"/incidents/{ticket.incident_id}?" + urlencode({"drop": ticket.drop})
    view = load_fabric_view(settings, FAULTY)
    found = next(one for one in view.incidents if one.incident_id == ticket.incident_id)
    component, node = found.component, found.component.split(":")[0]
    rack = next(one.name for one in view.racks if node in {held.name for held in one.nodes})
    question = "select drop, incident_id, severity, isolated_component from incident_records"
    return [
        Shot("map", f"/?{urlencode({'drop': FAULTY})}"),
        Shot("map-link", f"/?{urlencode({'drop': FAULTY, 'link': component})}", whole=True),
        Shot("map-no-data", f"/?{urlencode({'drop': GAPS})}"),
        Shot("map-phone", f"/?{urlencode({'drop': FAULTY})}", PHONE),
        Shot("rack", f"/racks/{quote(rack)}?{urlencode({'drop': FAULTY})}"),
        Shot("node", f"/nodes/{quote(node)}?{urlencode({'drop': FAULTY})}"),
        Shot("link", f"/links/{quote(component)}?{urlencode({'drop': FAULTY})}", TALL),
        Shot("compare", f"/compare?{urlencode({'a': HEALTHY, 'b': FAULTY})}", whole=True),
        Shot("matrix", f"/matrix?{urlencode({'drop': FAULTY})}"),
        Shot("p2p", f"/matrix/p2p?{urlencode({'drop': FAULTY})}"),
        Shot("incidents", "/incidents"),
        Shot("incident", incident, TALL),
        Shot("queue", "/queue"),
        Shot("ticket", f"/tickets/{ticket.ticket_id}", TALL),
        Shot("sheet", f"/tickets/{ticket.ticket_id}/print", (820, 1170)),
        Shot("audit", "/audit"),
        Shot("data", "/data"),
        Shot("table", "/data/incident_records"),
        Shot("query", f"/audit/query?{urlencode({'sql': question})}"),
        Shot("dossiers", "/dossiers"),
        Shot("search", f"/search?{urlencode({'q': 'nvlink-1'})}"),
    ]


LARGE_SHOTS = (
    Shot("floor-1000", "/"),
    Shot("matrix-1000", "/matrix"),
)


def _ticket(settings: Settings) -> StoredDraft:
    return next(one for one in Ledger(settings.ledger).tickets(FAULTY))


def run_shipped_drops(home: Path) -> Settings:
    """Take the drops of the checkout through the real command, into a home of their own."""
    environment = _without_keys(os.environ) | {"FABRIC_HOME": str(home)}
    subprocess.run(
        [sys.executable, "-m", "fabric_pipeline", "run"],
        check=True,
        cwd=project_root(),
        env=environment,
        stdout=subprocess.DEVNULL,
    )
    return Settings(root=project_root(), home=home)


def _without_keys(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name != "ANTHROPIC_API_KEY"}


def take(browser: Browser, settings: Settings, shots: list[Shot], folder: Path) -> list[Path]:
    """Picture every page in both themes; returns the files."""
    with served(create_app(settings)) as address:
        return [_take(browser, address, shot, theme, folder) for theme in THEMES for shot in shots]


def _take(browser: Browser, address: str, shot: Shot, theme: str, folder: Path) -> Path:
    width, height = shot.size
    context = browser.new_context(viewport={"width": width, "height": height})
    context.add_cookies([{"name": "theme", "value": theme, "url": address}])
    page = context.new_page()
    page.set_default_timeout(60_000)
    problems: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error":
            problems.append(message.text)

    page.on("console", note)
    answer = page.goto(address + shot.address)
    page.wait_for_timeout(SETTLE_MS)
    picture = page.screenshot(full_page=shot.whole)
    context.close()
    if problems or answer is None or not answer.ok:
        raise RuntimeError(f"{shot.address}: {answer.status if answer else 'no answer'} {problems}")
    target = folder / f"{shot.name}-{theme}.webp"
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.thumbnail((SHOWN_WIDTH, image.height))
    image.save(target, "WEBP", quality=QUALITY, method=6)
    return target


def main() -> None:
    """Write all pictures into the folder that is named."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as scratch, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=list(CHROMIUM_ARGS)
        )
        settings = run_shipped_drops(Path(scratch) / "small")
        written = take(browser, settings, small_shots(settings), folder)
        large = large_home(Path(scratch) / "large", 1000)
        written += take(browser, large, list(LARGE_SHOTS), folder)
        browser.close()
    size_kb = sum(path.stat().st_size for path in written) / 1024
    print(f"{len(written)} pictures, {size_kb:,.0f} kB")  # noqa: T201 - this is a command


if __name__ == "__main__":
    main()
