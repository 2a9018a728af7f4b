"""Reading a drop: files that change or vanish meanwhile, readers that fail, clocks that run ahead."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest

from fabric_pipeline.errors import BadInputError
from fabric_pipeline.model.records import (
    CollectiveTiming,
    FabricEvent,
    Reading,
    ReadResult,
    RejectedLine,
    Run,
    TopologyPart,
    UnknownFact,
)
from fabric_pipeline.sources import registry
from fabric_pipeline.sources.base import Reader, SourceFile
from fabric_pipeline.sources.drop import Drop, FileStamp, list_drop
from fabric_pipeline.sources.drop_meta import DropMeta
from fabric_pipeline.store.duck import session
from fabric_pipeline.workflows import staging
from fabric_pipeline.workflows.ingest import ingest
from fabric_pipeline_tests.workflows.readout import READ_AT, read_drop, read_files, write

HEAD = "ts,node,gpu,link_type,link,replay\n"
ROW = "2026-11-20T07:00:00Z,n1,0,nvlink,gpu0/nvlink-1,5\n"
CHANGED = (
    "changed while it was read; what was read of it is set aside, drop it again when it is complete"
)


class Talkative:
    """A reader of a made-up format that says something of every kind."""

    format_id: ClassVar[str] = "talkative"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "topology"})

    def score(self, file: SourceFile) -> int:
        return 50 if file.head.startswith("talk") else 0

    def read(self, file: SourceFile) -> ReadResult:  # noqa: ARG002 - the protocol
        return ReadResult(
            readings=[Reading(1, "replay", "5", node="n9", interface="gpu0/nvlink-1", counter="replay", value=5.0)],
            events=[FabricEvent(1, "note", "x")],
            timings=[CollectiveTiming(1, "x", 5.0, run="r9")],
            runs=[Run("r9", ["n9"])],
            topology=TopologyPart(nodes=[{"node": "n9"}]),
            rejected=[RejectedLine(1, "x", "a rule")],
            unknown=[UnknownFact("n9", "", "all", "said so")],
            facts={"said": "much"},
        )  # fmt: skip


@pytest.fixture
def with_reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Puts a reader in front of the built-in ones."""
    built_in = registry.readers()

    def put(reader: Reader) -> None:
        monkeypatch.setattr(registry, "readers", lambda: (reader, *built_in))

    return put


def test_a_file_that_changes_is_set_aside_with_all_it_said(
    tmp_path: Path, with_reader: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_reader(Talkative())
    files = {"a.txt": "talk", "b.csv": HEAD + ROW, "c.csv": HEAD + ROW, "d.jsonl": "{}"}
    write(tmp_path, files)
    moving = {"a.txt", "b.csv", "d.jsonl"}
    monkeypatch.setattr(FileStamp, "is_unchanged", lambda stamp: stamp.name not in moving)
    readout = read_drop(tmp_path)
    for name in moving:
        assert readout.report(name).problem == CHANGED
        assert readout.refused(name) == [(None, CHANGED)]
        assert readout.accepted(name) == []
    assert len(readout.accepted("c.csv")) == 1
    read = readout.read
    assert (read.unknown, read.facts, read.runs) == ([], {}, {})
    assert not read.topology
    assert readout.rows("fabric_events") + readout.rows("collective_timings") == []
    assert readout.balances


def test_a_file_that_held_still_says_all_of_it(tmp_path: Path, with_reader: Any) -> None:
    with_reader(Talkative())
    readout = read_files(tmp_path, {"a.txt": "talk"})
    read = readout.read
    assert (len(read.unknown), read.facts, list(read.runs)) == (
        1,
        {"a.txt": {"said": "much"}},
        ["r9"],
    )
    assert list(read.topology.nodes) == ["n9"]
    assert [row["run_nodes"] for row in readout.rows("collective_timings")] == ['["n9"]']
    assert (readout.report("a.txt").readings, readout.report("a.txt").rejected) == (3, 1)


def test_bytes_written_between_listing_and_reading(tmp_path: Path) -> None:
    write(tmp_path, {"a.csv": HEAD + ROW, "b.csv": HEAD + ROW})
    drop = list_drop(tmp_path)
    with (tmp_path / "a.csv").open("a") as file:
        file.write(ROW)
    readout = read_drop(drop)
    assert [report.problem for report in readout.read.files] == [CHANGED, ""]


@pytest.mark.parametrize("name", ["a.csv", "empty.txt", "prose.txt", "a.parquet", "log.jsonl"])
def test_a_file_that_vanishes_between_listing_and_reading(tmp_path: Path, name: str) -> None:
    content = {"a.csv": HEAD + ROW, "empty.txt": "", "a.parquet": "PAR1 link_type PAR1"}
    write(tmp_path, {name: content.get(name, "nothing of ours\n"), "z.csv": HEAD + ROW})
    drop = list_drop(tmp_path)
    (tmp_path / name).unlink()
    readout = read_drop(drop)
    assert readout.report(name).problem in (
        "is no longer there; drop it again when it is complete",
        "file is empty; nothing was measured in it",
    )
    assert len(readout.accepted("z.csv")) == 1
    assert readout.balances


def test_a_file_that_becomes_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"a.csv": HEAD + ROW, "b.csv": HEAD + ROW})
    drop = list_drop(tmp_path)
    original = Path.open

    def opened(path: Path, *args: Any, **options: Any) -> Any:
        if path.name == "a.csv":
            raise PermissionError(13, "Permission denied")
        return original(path, *args, **options)

    monkeypatch.setattr(Path, "open", opened)
    readout = read_drop(drop)
    assert readout.report("a.csv").problem == (
        "cannot be read (Permission denied); check the file and drop it again"
    )
    assert readout.report("b.csv").problem == ""


class Failing(Talkative):
    """A reader of somebody else's with a fault in it."""

    def read(self, file: SourceFile) -> ReadResult:  # noqa: ARG002 - the protocol
        raise ZeroDivisionError("division by zero")


def test_a_reader_that_fails_costs_only_its_file(tmp_path: Path, with_reader: Any) -> None:
    with_reader(Failing())
    readout = read_files(tmp_path, {"a.txt": "talk", "b.csv": HEAD + ROW})
    problem = readout.report("a.txt").problem
    assert problem == (
        "the reader talkative failed on it (ZeroDivisionError: division by zero); report this fault"
    )
    assert readout.refused("a.txt") == [(None, problem)]
    assert len(readout.accepted("b.csv")) == 1


class Blind(Talkative):
    """A reader that breaks on looking at a file."""

    def score(self, file: SourceFile) -> int:
        raise KeyError(file.name)


def test_a_reader_that_fails_on_looking_keeps_no_file_from_the_others(
    tmp_path: Path, with_reader: Any
) -> None:
    with_reader(Blind())
    readout = read_files(tmp_path, {"b.csv": HEAD + ROW})
    assert readout.read.problems == [
        "b.csv: the reader talkative failed (KeyError); report this fault"
    ]
    assert len(readout.accepted("b.csv")) == 1


class Odd(Talkative):
    """A reader that hands over what no table can hold."""

    def read(self, file: SourceFile) -> ReadResult:  # noqa: ARG002 - the protocol
        far, near = 2**70, float("inf")
        sound = {"node": "n", "interface": "gpu0/nvlink-1", "counter": "replay"}
        return ReadResult(
            readings=[
                Reading(1, "replay", "x" * 9000, value=value, lane=far, socket=far, entity_text="y" * 9000, **sound)
                for value in (near, float("nan"), 1e30, -1.0, None)
            ]
            + [Reading(1, "moon", "7", value=7.0), Reading(1, "replay", "\ud800", value=3.0, **sound)],
            events=[FabricEvent(1, "note", "\udfff", code=far, seconds=near, count=0, lane=-1, details={"x": {1}})],
            timings=[CollectiveTiming(1, "x", value, seq=far, bytes=-1, rank=far, baseline_us=-3.0, busbw_gbs=near) for value in (near, -1.0, 4.0)],
        )  # fmt: skip


def test_what_no_table_can_hold_is_kept_out_of_it(tmp_path: Path, with_reader: Any) -> None:
    with_reader(Odd())
    write(tmp_path, {"a.txt": "talk"})
    readout = read_drop(tmp_path, is_checked=True)
    assert readout.report("a.txt").problem == ""
    assert readout.violations == []
    assert readout.balances
    rules = [rule for _, rule in readout.refused("a.txt")]
    assert ["finite" in rule for rule in rules[:2]] == [True, True]
    assert "larger than a 64-bit counter" in rules[2]
    assert "cannot be negative" in rules[3]
    assert "not a number" in rules[4]
    assert "not in the catalogue" in rules[5]
    assert [(row["value"], row["delta"]) for row in readout.accepted("a.txt")] == [(3.0, None)]
    timings = readout.rows("collective_timings")
    assert [row["duration_us"] for row in timings] == [None, None, 4.0]
    assert {(row["bytes"], row["rank"], row["baseline_us"], row["seq"]) for row in timings} == {
        (None, None, None, 0)
    }
    (event,) = readout.rows("fabric_events")
    assert (event["code"], event["count"], event["text"]) == (None, 1, "\ufffd")


def test_a_clock_that_runs_ahead_is_told_and_nothing_is_lost(tmp_path: Path) -> None:
    late = READ_AT + timedelta(minutes=9), READ_AT + timedelta(minutes=11)
    rows = [ROW, *(ROW.replace("2026-11-20T07:00:00Z", time.isoformat()) for time in late)]
    errors = "GPU 2: Some Card\n\t Link 3: Replay Errors: 77\n"
    meta = f'files: {{"b.txt": {{node: n2, time: "{late[1].isoformat()}"}}}}'
    readout = read_files(
        tmp_path, {"a.csv": HEAD + "".join(rows), "b.txt": errors, "drop.yaml": meta}
    )
    assert [row["quality"] for row in readout.accepted("a.csv")] == ["ok", "ok", "clock_skew"]
    assert [row["value"] for row in readout.accepted("a.csv")] == [5, 5, 5]
    assert {row["quality"] for row in readout.accepted("b.txt")} == {"clock_skew"}
    assert readout.rows("quarantined_telemetry") == []


def test_files_keep_their_order_though_topology_is_read_first(tmp_path: Path) -> None:
    topology = '{"nodes": [{"node": "elm", "gpus": [{"gpu": 0}]}], "links": []}'
    errors = "GPU 2: Some Card\n\t Link 3: Replay Errors: 77\n"
    write(tmp_path, {"elm/a.txt": errors, "b.csv": HEAD + ROW, "z/topology.json": topology})
    readout = read_drop(tmp_path)
    assert [report.name for report in readout.read.files] == [
        "b.csv",
        "elm/a.txt",
        "z/topology.json",
    ]
    assert {row["node"] for row in readout.accepted("elm/a.txt")} == {"elm"}


def test_a_zone_that_only_this_machine_knows(tmp_path: Path) -> None:
    """`zoneinfo` knows names that stand for the machine's own setting; results may not hang on it."""
    drop = Drop(tmp_path, (), DropMeta(timezone_name="localtime"))
    with pytest.raises(BadInputError, match="timezone 'localtime' is not known -> use a name"):
        read_drop(drop)
    with pytest.raises(BadInputError, match="is not known"):
        read_drop(Drop(tmp_path, (), DropMeta(timezone_name="UTC'; drop table drop_files; --")))


def test_only_the_counters_reader_is_bulk(tmp_path: Path) -> None:
    file = SourceFile(tmp_path / "a", "a")
    with (
        closing(session()) as con,
        pytest.raises(TypeError, match="talkative is registered as bulk"),
    ):
        staging.add_bulk(con, file, Talkative(), READ_AT)


def test_rack_and_unit_come_from_the_node_pattern_where_no_file_states_them(tmp_path: Path) -> None:
    drop = tmp_path / "drop"
    drop.mkdir()
    (drop / "drop.yaml").write_text(
        "node_pattern: '^h(?P<rack>\\d+)u(?P<unit>\\d+)-(?P<node>n\\d+)$'\n", encoding="utf-8"
    )
    (drop / "counters.csv").write_text(
        "ts,node,link_type,link,counter,value\n2031-01-02T03:04:05Z,h07u12-n3,nvlink,gpu0/nvlink-1,crc_flit,4\n",
        encoding="utf-8",
    )
    connection = session()
    read = ingest(connection, list_drop(drop), "d", datetime(2031, 1, 3, tzinfo=UTC))
    assert read.topology.place("h07u12-n3:gpu0/nvlink-1") == {"rack": "07", "unit": "12"}
    rows = connection.execute("select file, node, rack, unit from fabric_topology").fetchall()
    assert rows == [("drop.yaml", "h07u12-n3", "07", "12")]
