"""Links that were accused once, looked at again in later drops: real drops, lake and ledger."""

from __future__ import annotations

import csv
import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.settings import Settings
from fabric_pipeline.store import lake
from fabric_pipeline.store.ledger import Ledger, LinkCheck
from fabric_pipeline.workflows.drop_stages import ingest_stage, link_counters_stage
from fabric_pipeline.workflows.inbox import claim
from fabric_pipeline.workflows.ingest_report import cluster_of
from fabric_pipeline.workflows.lifecycle import states
from fabric_pipeline.workflows.link_checks import record_link_checks

NOW = datetime(2026, 11, 20, tzinfo=UTC)
DAY_ONE = datetime(2026, 5, 6, 7, tzinfo=UTC)
LINKS = [f"gpu0/nvlink-{n}" for n in range(6)]
BAD = "gpu0/nvlink-2"
ERRORS = dict.fromkeys(LINKS, 0)


def drop(folder: Path, day: int, errors: dict[str, int], *, minutes: int = 40, **meta: str) -> Path:
    """One node's NVLinks; each counts so many replays a minute. `cluster` and `column` may differ."""
    folder.mkdir(parents=True)
    known = {"cluster": "larch", "column": "replay", "node": "n1"} | meta
    (folder / "drop.yaml").write_text(f'cluster: "{known["cluster"]}"\ntimezone: "UTC"\n')
    with (folder / "counters.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["ts", "node", "socket", "gpu", "link_type", "link", known["column"]])
        for minute in range(minutes + 1):
            at = DAY_ONE + timedelta(days=day, minutes=minute)
            for link, rate in errors.items():
                row = [at.isoformat(), known["node"], 0, 0, "nvlink", link, rate * minute]
                writer.writerow(row)
    node = {"node": "n1", "gpus": [{"gpu": 0, "serial": "S-1"}]}
    (folder / "topology.json").write_text(json.dumps({"site": "x", "nodes": [node], "links": []}))
    return folder


def fault(name: str, day: int, counter: str = "replay") -> IncidentRecord:
    start = DAY_ONE + timedelta(days=day)
    return IncidentRecord(
        incident_id="INC-00000000000b", drop=name, isolated_component=f"n1:{BAD}",
        fault_type="physical_link_degradation", severity="WARNING", ticket_priority="normal",
        action_code="reseat", action_text="reseat", summary="errors", confidence=0.9,
        first_seen=start, last_seen=start + timedelta(minutes=40), numbers={"counts": {counter: 90}},
    )  # fmt: skip


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(root=tmp_path, home=tmp_path / "home")


def read(
    settings: Settings, folder: Path, records: list[IncidentRecord] | None = None
) -> list[LinkCheck]:
    """A drop as far as link checks need it: read, counted, diagnosed as given."""
    ledger = Ledger(settings.ledger)
    found = claim(ledger, folder, NOW)
    name = found.drop_id
    tables = tables_of(name, found.content_sha256, folder)
    shutil.copytree(tables, settings.home, dirs_exist_ok=True)
    ledger.record_incidents(name, records or [], NOW)
    return record_link_checks(settings, name, NOW, lambda one: cluster_of(settings, one))


@pytest.fixture(scope="module", autouse=True)
def kept(tmp_path_factory: pytest.TempPathFactory) -> None:
    KEPT["folder"] = tmp_path_factory.mktemp("tables")


KEPT: dict[str, Path] = {}


def tables_of(name: str, sha256: str, folder: Path) -> Path:
    """A home with the tables of this drop: the same content under the same name is read once."""
    home = KEPT["folder"] / f"{name}-{sha256}"
    if not home.is_dir():
        settings = Settings(root=home, home=home)
        ingest_stage(settings, name, folder, NOW)
        link_counters_stage(settings, name)
    return home


def verdicts(settings: Settings) -> dict[str, str]:
    return {check.drop: check.verdict for check in Ledger(settings.ledger).link_checks()}


def test_a_repaired_link_beside_its_siblings_in_later_drops(
    settings: Settings, tmp_path: Path
) -> None:
    read(settings, drop(tmp_path / "d1", 0, ERRORS | {BAD: 90}), [fault("d1", 0)])
    (clean,) = read(settings, drop(tmp_path / "d2", 1, ERRORS))
    assert (clean.verdict, clean.measured_s, clean.component) == ("clean", 2400.0, f"n1:{BAD}")
    (dirty,) = read(settings, drop(tmp_path / "d3", 2, ERRORS | {BAD: 5}))
    assert dirty.verdict == "dirty"
    assert dirty.facts["own_rate"] == 300.0
    assert (dirty.facts["siblings"], dirty.facts["siblings_median"]) == (5, 0.0)
    (alike,) = read(settings, drop(tmp_path / "d4", 3, dict.fromkeys(LINKS, 5)))
    assert (alike.verdict, alike.facts["siblings_median"]) == ("clean", 300.0)
    assert Ledger(settings.ledger).verify_chain() == []


def test_a_drop_that_cannot_tell_is_unmeasured_and_one_that_does_not_know_the_node_is_silent(
    settings: Settings, tmp_path: Path
) -> None:
    read(settings, drop(tmp_path / "d1", 0, ERRORS | {BAD: 90}), [fault("d1", 0)])
    others = {link: 0 for link in LINKS if link != BAD}
    (without,) = read(settings, drop(tmp_path / "d2", 1, others))
    assert (without.verdict, without.facts["why"]) == (
        "unmeasured", "the drop has no counters of this link",
    )  # fmt: skip
    (other_counter,) = read(settings, drop(tmp_path / "d3", 2, ERRORS, column="recovery"))
    assert other_counter.verdict == "unmeasured"
    (once,) = read(settings, drop(tmp_path / "d4", 3, ERRORS, minutes=0))
    assert once.verdict == "unmeasured"
    assert read(settings, drop(tmp_path / "d5", 4, ERRORS, cluster="other")) == []
    alien = drop(tmp_path / "d6", 5, ERRORS, node="n9")
    (alien / "topology.json").unlink()
    assert read(settings, alien) == []
    state = states(Ledger(settings.ledger))["INC-00000000000b"]
    assert (state.state, state.unmeasured) == ("new", ("d2", "d3", "d4"))


def test_the_same_drop_again_adds_nothing(settings: Settings, tmp_path: Path) -> None:
    read(settings, drop(tmp_path / "d1", 0, ERRORS | {BAD: 90}), [fault("d1", 0)])
    later = drop(tmp_path / "d2", 1, ERRORS)
    assert len(read(settings, later)) == 1
    assert read(settings, later) == []


def test_errors_the_link_always_had_are_not_held_against_it(
    settings: Settings, tmp_path: Path
) -> None:
    read(settings, drop(tmp_path / "d0", 0, ERRORS | {BAD: 6}))
    read(settings, drop(tmp_path / "d1", 1, ERRORS | {BAD: 90}), [fault("d1", 1)])
    (check,) = read(settings, drop(tmp_path / "d2", 2, ERRORS | {BAD: 6}))
    assert (check.verdict, check.facts["past_rate"]) == ("clean", 360.0)


def test_whatever_the_order_of_reading_the_states_are_the_same(
    settings: Settings, tmp_path: Path
) -> None:
    drops = {
        "d0": (0, ERRORS | {BAD: 6}, []),
        "d1": (1, ERRORS | {BAD: 90}, [fault("d1", 1)]),
        "d2": (2, ERRORS | {BAD: 6}, []),
    }
    for name, (day, errors, _) in drops.items():
        drop(tmp_path / name, day, errors)
    seen = []
    for order in ("d0 d1 d2", "d2 d1 d0", "d1 d2 d0"):
        for name in order.split():
            read(settings, tmp_path / name, drops[name][2])
        found = states(Ledger(settings.ledger))["INC-00000000000b"]
        seen.append((found, verdicts(settings)["d2"]))
        shutil.rmtree(settings.home)
    assert {verdict for _, verdict in seen} == {"clean"}
    assert all(found == seen[0][0] for found, _ in seen)
    assert seen[0][0].state == "quiet"


def test_a_drop_whose_tables_were_cleared_away_is_left_alone(
    settings: Settings, tmp_path: Path
) -> None:
    read(settings, drop(tmp_path / "d1", 0, ERRORS | {BAD: 90}), [fault("d1", 0)])
    lake.remove(settings.lake, "link_counters", "d1")
    (check,) = read(settings, drop(tmp_path / "d2", 1, ERRORS))
    assert check.verdict == "clean"
