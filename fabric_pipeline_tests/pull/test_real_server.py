"""Windows fetched from a real Prometheus: every stored sample once, resumed, halved, read back as a drop."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import dagster as dg
import httpx2
import pytest

from fabric_pipeline.errors import FabricError, NotFoundError, UsageError
from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.orchestration.build import build_definitions
from fabric_pipeline.orchestration.resources import FabricResource
from fabric_pipeline.pull import plan
from fabric_pipeline.pull.plan import Stretch
from fabric_pipeline.pull.server import Server, TooMuchError
from fabric_pipeline.pull.window import Wish, pull_window
from fabric_pipeline.settings import Settings
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.drop import list_drop
from fabric_pipeline.sources.registry import recognise
from fabric_pipeline_tests.cli.calls import Shell
from fabric_pipeline_tests.orchestration.runs import QUIET
from fabric_pipeline_tests.pipeline_runs import ROOT
from fabric_pipeline_tests.pull.real_prometheus import (
    END,
    HOSTS,
    MISSING,
    SERIES,
    STEP_S,
    Running,
    is_installed,
    running,
    value_at,
)

pytestmark = pytest.mark.skipif(not is_installed() and not os.environ.get("CI"), reason=MISSING)
HOUR = Stretch(END - timedelta(hours=1), END)


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    assert is_installed(), MISSING
    with running(tmp_path_factory.mktemp("prometheus")) as server:
        yield server


@pytest.fixture
def server(prometheus: Running) -> Iterator[Server]:
    client = Server(prometheus.url, pause=lambda _: None)
    yield client
    client.close()


def samples_of(folder: Path) -> list[tuple[str, str, float, float]]:
    """(metric, instance, time, value) of every sample in a drop, but for the names of hosts."""
    found = []
    for path in sorted(folder.glob("*.json")):
        last = path.read_text("utf-8").strip().splitlines()[-1]
        for one in json.loads(last)["data"]["result"]:
            name, instance = one["metric"]["__name__"], one["metric"]["instance"]
            found += [(name, instance, float(at), float(v)) for at, v in one["values"]]
    return found


def expected(window: Stretch) -> list[tuple[str, str, float, float]]:
    """The same out of the history that the server was given: after the start, up to the end."""
    rows = []
    for row, (name, _, _) in enumerate(SERIES):
        if name == "node_load1":
            continue
        for host, instance in enumerate(HOSTS, 1):
            at = window.after + timedelta(seconds=STEP_S)
            while at <= window.until:
                rows.append((name, instance, at.timestamp(), float(value_at(row, host, at))))
                at += timedelta(seconds=STEP_S)
    return sorted(rows)


def _read(file: SourceFile) -> ReadResult:
    reader = recognise(file).reader
    assert reader is not None
    assert reader.format_id == "prometheus_query_json"
    return reader.read(file)


def test_every_sample_comes_once_whatever_the_stretches(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in (400_000, 200, 60):
        monkeypatch.setattr(plan, "SAMPLES_AN_ANSWER", limit)
        done = pull_window(server, Wish(HOUR), tmp_path / str(limit))
        found = [one for one in samples_of(done.path) if one[0] != "node_uname_info"]
        assert sorted(found) == expected(HOUR)
        assert done.samples == len(samples_of(done.path))
        assert done.silent == []
    assert done.answers > 20


def test_the_drop_is_read_with_hosts_and_window(server: Server, tmp_path: Path) -> None:
    done = pull_window(server, Wish(HOUR, site="harbour-9"), tmp_path)
    drop = list_drop(done.path)
    assert drop.problems == ()
    assert (drop.meta.site, drop.meta.window_end) == ("harbour-9", END)
    readings = [
        reading
        for stamp in drop.data_files()
        if "uname" not in stamp.name
        for reading in _read(drop.source(stamp)).readings
    ]
    assert {reading.node for reading in readings} == set(HOSTS.values())
    symbol = [r for r in readings if r.counter == "symbol_error" and r.node == "calc-r1-n2"]
    assert len(symbol) == 240
    assert {r.interface for r in symbol} == {"mlx5_0/1"}
    assert [r.value for r in symbol][-1] == value_at(0, 2, END)
    assert symbol[-1].time == END


def test_too_much_for_one_answer_is_asked_in_halves(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The estimate is off by a factor of ten thousand, so that two hours are asked for at once.
    monkeypatch.setattr(plan, "SCRAPE_INTERVAL_S", 150_000.0)
    whole = Stretch(END - timedelta(hours=2), END)
    with pytest.raises(TooMuchError):
        server.query(plan.samples_query(SERIES[0][0], "", whole), END)
    done = pull_window(server, Wish(whole), tmp_path)
    found = [one for one in samples_of(done.path) if one[0] != "node_uname_info"]
    assert sorted(found) == expected(whole)
    assert len(list(done.path.glob(f"{SERIES[0][0]}.*"))) == 2


def test_an_interrupted_fetch_goes_on(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "SAMPLES_AN_ANSWER", 200)
    asked = 0
    real = Server.query

    def breaks(self: Server, text: str, at: datetime) -> object:
        nonlocal asked
        asked += 1
        if asked == 9:
            raise FabricError("the line broke", "")
        return real(self, text, at)

    monkeypatch.setattr(Server, "query", breaks)
    with pytest.raises(FabricError, match="the line broke"):
        pull_window(server, Wish(HOUR), tmp_path)
    assert [path for path in tmp_path.iterdir() if not path.name.startswith(".")] == []
    with pytest.raises(UsageError, match="another server or selector"):
        pull_window(server, Wish(HOUR, 'instance="10.0.0.1:9100"'), tmp_path)
    done = pull_window(server, Wish(HOUR), tmp_path)
    assert done.reused >= 2
    found = [one for one in samples_of(done.path) if one[0] != "node_uname_info"]
    assert sorted(found) == expected(HOUR)
    assert done.samples == len(samples_of(done.path))
    again = pull_window(server, Wish(HOUR), tmp_path)
    assert (again.path, again.answers) == (done.path, 0)


def test_matchers_narrow_and_an_empty_window_is_no_clean_fabric(
    server: Server, tmp_path: Path
) -> None:
    done = pull_window(server, Wish(HOUR, 'instance="10.0.0.1:9100"'), tmp_path)
    assert {one[1] for one in samples_of(done.path)} == {"10.0.0.1:9100"}
    with pytest.raises(UsageError, match="other label matchers"):
        pull_window(server, Wish(HOUR), tmp_path)
    long_ago = Stretch(END - timedelta(days=400), END - timedelta(days=399))
    with pytest.raises(NotFoundError, match="no interconnect metric"):
        pull_window(server, Wish(long_ago), tmp_path)


def test_what_is_scraped_now_can_be_pulled_and_run(
    prometheus: Running,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    deadline = time.monotonic() + 20
    counted = "count_over_time(node_infiniband_link_downed_total[20s])"
    with httpx2.Client(base_url=prometheus.url) as client:
        while time.monotonic() < deadline:
            told = client.get("/api/v1/query", params={"query": counted}).json()["data"]["result"]
            if told and int(told[0]["value"][1]) >= 3:
                break
            time.sleep(0.3)
    monkeypatch.setenv("FABRIC_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FABRIC_PROMETHEUS_URL", prometheus.url)
    said = Shell(monkeypatch, capsys)("pull", "--window", "60s", "--json").json
    assert said["samples"] >= 3
    folder = Path(said["drop"])
    assert folder.parent == Settings(root=ROOT, home=tmp_path / "home").pulled
    values = [one[3] for one in samples_of(folder) if one[0].endswith("link_downed_total")]
    assert values == sorted(values)
    assert {b - a for a, b in pairwise(values)} == {2.0}
    assert datetime.now(UTC) - list_drop(folder).meta.window_end < timedelta(minutes=1)  # type: ignore[operator]


def test_the_scheduled_job_fetches_the_missing_hour_once(
    prometheus: Running, tmp_path: Path
) -> None:
    class At(FabricResource):
        def settings(self) -> Settings:
            return Settings(root=ROOT, home=tmp_path, prometheus_url=prometheus.url)

        def now(self) -> datetime:
            return END + timedelta(minutes=4)

    job = build_definitions(fabric=At()).resolve_job_def("pull_prometheus")
    with dg.DagsterInstance.ephemeral() as instance:
        counts = [
            job.execute_in_process(instance=instance, run_config=QUIET).output_for_node(
                "fetch_missing_hours"
            )
            for _ in range(2)
        ]
    assert counts == [1, 0]
    (drop,) = (tmp_path / "pulled").glob("pull-*")
    found = [one for one in samples_of(drop) if one[0] != "node_uname_info"]
    assert sorted(found) == expected(HOUR)
