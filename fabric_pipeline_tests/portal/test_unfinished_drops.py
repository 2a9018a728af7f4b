"""Pages of a drop that a run is still reading, and links whose names break lines: a sentence, never a broken page."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import pytest

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.lake import remove
from fabric_pipeline_tests.pipeline_runs import ROOT, copy_home
from fabric_pipeline_tests.portal.link_homes import BEFORE, DROP, LINK, portal
from fabric_pipeline_tests.portal.serving import ask
from fabric_pipeline_tests.workflows.fabric_lake import Lake, incident

# In the order in which a run writes them: a drop that is under way has the first ones alone.
WRITTEN = (
    "fabric_topology", "link_counters", "collective_timings", "spike_detections", "stragglers",
    "straggler_correlations", "incident_records",
)  # fmt: skip
PAGES = (
    f"/links/{LINK}?drop={DROP}", f"/links/{LINK}?drop={DROP}&panel=1", f"/timeline?drop={DROP}&link={LINK}",
    f"/api/series?drop={DROP}&link={LINK}", f"/?drop={DROP}&link={LINK}", f"/compare?a={BEFORE}&b={DROP}&link={LINK}",
)  # fmt: skip


@pytest.fixture(scope="module")
def under_way(home: Settings, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    here = Settings(root=ROOT, home=tmp_path_factory.mktemp("half") / "warehouse")
    copy_home(home.home, here.home)
    return here


def test_a_drop_answers_at_every_step_of_its_run(under_way: Settings) -> None:
    with portal(under_way) as url:
        for table in reversed(WRITTEN):
            if table == "fabric_topology":
                break
            remove(under_way.lake, table, DROP)
            for path in PAGES:
                answer = ask(url, path)
                assert answer.status == 200, (table, path)
                assert "Traceback" not in answer.text
        # Only the topology is there: the link is known, and nothing is known of it.
        page = ask(url, PAGES[0]).text
        assert 'class="state no_data"' in page
        assert "The diagnosis has not run on this drop." in page
        assert "no reading of this drop carries a time" in page.lower()
        compared = ask(url, PAGES[-1]).text
        assert f"The diagnosis has not run on drop {DROP}" in compared
        remove(under_way.lake, "fabric_topology", DROP)
        for path in PAGES:
            answer = ask(url, path)
            assert answer.status == 503
            assert "a run is reading it" in answer.text
        assert ask(url, "/?drop=never-heard-of").status == 404


BROKEN = "rack\nnode\u2028x"


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    lake = Lake(tmp_path_factory.mktemp("broken")).counters([(BROKEN, "gpu0/nvlink-1")])
    lake.spikes().incidents(incident(1, f"{BROKEN}:gpu0/nvlink-1", "CRITICAL"))
    with portal(lake.settings) as url:
        yield url


@pytest.mark.parametrize("path", ["/links/{}?drop=d1", "/links/{}?drop=d1&panel=1", "/?drop=d1&link={}"])  # fmt: skip
def test_names_that_break_lines_have_their_pages(broken: str, path: str) -> None:
    answer = ask(broken, path.format(quote(f"{BROKEN}:gpu0/nvlink-1", safe="")))
    assert answer.status == 200
    assert "data-panel-link=" in answer.text or "<h1" in answer.text
