"""Bad files in a drop: each is named with what to do, costs only itself, and every row is accounted for.

All files of the table lie in one drop, so each case also shows that the others were read.
"""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.duck import literal, session
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.accounting import reading_account
from fabric_pipeline.workflows.drop_stages import (
    correlation_stage,
    incident_stage,
    ingest_stage,
    link_counters_stage,
    spike_stage,
    straggler_stage,
)
from fabric_pipeline.workflows.inspect import inspect
from fabric_pipeline.workflows.run_drops import plan
from fabric_pipeline_tests.workflows.readout import READ_AT, Readout, read_drop, read_files, write

HEAD = "ts,node,gpu,link_type,link,replay\n"
JSON = '{"ts": "2026-11-20T07:00:00Z", "node": "n1", "link_type": "nvlink", "link": "gpu0/nvlink-1", "replay": 5}\n'
NOT_UTF8 = "line has bytes that are not UTF-8; save the file as UTF-8"
CONTROL = "line has control characters (NUL, a lone carriage return or 0x1F)"
OVERLONG = "line is longer than a row can be; it may have lost its line ends"
UNKNOWN = "no reader knows this format"


def row(value: object = 5, ts: str = "2026-11-20T07:00:00Z", node: str = "n1") -> str:
    return f"{ts},{node},0,nvlink,gpu0/nvlink-1,{value}\n"


@dataclass(frozen=True)
class Case:
    """A file, and what has to be said: `problem` of the whole file, lines refused, lines accepted."""

    content: str | bytes
    problem: str = ""
    refused: dict[int, str] = field(default_factory=dict)
    accepted: tuple[int, ...] = ()


def _parquet() -> bytes:
    with (
        closing(session()) as con,
        TemporaryDirectory() as folder,
    ):  # not beside workers that collect too
        path = Path(folder) / "made.parquet"
        select = "select 'n1' as node, 'nvlink' as link_type, 'gpu0/nvlink-1' as link, i as replay from range(5) t(i)"
        con.execute(f"copy ({select}) to {literal(str(path))} (format parquet)")
        return path.read_bytes()


PARQUET = _parquet()
VALUES = {
    "1e400": "value 1e400 is not a finite number",
    "inf": "value inf is not a finite number",
    "-5": "a counter or state cannot be negative: -5",
    "0x10": "value 0x10 is not a number",
    '"1,5"': "value 1,5 is not a number",
    "1_000": "value 1_000 is not a number",
    "1e30": "value 1e30 is larger than a 64-bit counter can be",
    "five": "value five is not a number",
    "9" * 400: f"value {'9' * 40} is not a finite number",
}
TIMES = ("1790000000", "1790000000.5", "1790000000000", "20.11.2026 08:00", "2026-11-20", "0001-01-01T00:00:00+14:00", "9999-12-31T23:00:00-14:00")  # fmt: skip
CASES = {
    "good.csv": Case(HEAD + row(), accepted=(2,)),
    "good.jsonl": Case(JSON, accepted=(1,)),
    "good.parquet": Case(PARQUET, accepted=(1, 2, 3, 4, 5)),
    "empty.csv": Case("", "file is empty; nothing was measured in it"),
    "blank.csv": Case("\n\n \n", UNKNOWN),
    "head.csv": Case(HEAD),
    "cut.csv": Case(HEAD + row() + row()[:30], refused={3: "row has 4 fields, the header has 6"}, accepted=(2,)),
    "cut.jsonl": Case(JSON + JSON[:50], refused={2: "line is not one JSON object"}, accepted=(1,)),
    "rotated.jsonl": Case(JSON[50:] + JSON, refused={1: "line is not one JSON object"}, accepted=(2,)),
    "cut.parquet": Case(PARQUET[:200], "Parquet file without its end, so it cannot be read; copy it again"),
    "footless.parquet": Case(PARQUET[:-60], "cannot be read as parquet: "),
    "torn.parquet": Case(PARQUET[:100] + b"\xff" * 60 + PARQUET[160:], "cannot be read as parquet: "),
    "other.parquet": Case(PARQUET.replace(b"link_type", b"link_tips"), "Parquet file with columns that no reader"),
    "junk.bin": Case(bytes(range(256)) * 40, "binary content that no reader knows; drop the text output"),
    "logs.gz": Case(b"\x1f\x8b\x08\x00" + b"\0\1\2" * 50, "gzip archive: its compressed content is damaged, so nothing of it can be trusted; copy it again"),
    "logs.zip": Case(b"PK\x03\x04" + b"\0\1\2" * 50, "zip archive: zip without a readable list of entries, which stands at its end; copy it again completely"),
    "logs.zst": Case(b"\x28\xb5\x2f\xfd" + b"\0\1\2" * 50, "zstd archive, which is not opened; unpack it and drop the folder"),
    "columns.csv": Case("ts,node,link,link_type,val\n1,2,3,4,5\n", "val' looks like the head of a counters file without counter, value; correct"),
    "timings.csv": Case("run,comm,op,micros\n1,2,3,4\n", "looks like the head of a collectives file without duration_us; correct"),
    "semicolons.csv": Case((HEAD + row()).replace(",", ";"), "looks like the head of a counters file; separate the columns by commas"),
    "old_mac.csv": Case((HEAD + row()).replace("\n", "\r"), "ends in a lone carriage return; save the file with line feeds"),
    "twice.csv": Case(HEAD.replace("gpu,", "link,") + row(), "the header names the column 'link' twice; rename one"),
    "prose.txt": Case("Dear all,\nthe racks are fine.\n", "no reader knows this format (line 1: 'Dear all,'); `fabric-pipeline doctor --formats`"),
    "fields.csv": Case(
        HEAD + "n1\n" + row() + row().replace(",0,", ",0,0,") + '"2026\n' + row(),
        refused={2: "row has 1 fields, the header has 6", 4: "row has 7 fields", 5: "quotes in this line do not pair up"},
        accepted=(3, 6),
    ),
    "mixed.csv": Case(
        (HEAD + row()).encode() + row(node="jürgen").encode("latin-1") + row(node="jürgen").encode(),
        refused={3: NOT_UTF8},
        accepted=(2, 4),
    ),
    "mixed.jsonl": Case(
        JSON.encode() + JSON.replace("n1", "n\xe9").encode("latin-1") + JSON.encode(), refused={2: NOT_UTF8}, accepted=(1, 3)
    ),
    "utf16.csv": Case((HEAD + row() + row(node="jürgen")).encode("utf-16"), accepted=(2, 3)),
    "utf16.jsonl": Case((JSON + JSON).replace("\n", "\r\n").encode("utf-16"), accepted=(1, 2)),
    "utf16_unmarked.csv": Case((HEAD + row()).encode("utf-16-le"), "binary content that no reader knows"),
    "bom.csv": Case("\ufeff" + HEAD + row(), accepted=(2,)),
    "nul.csv": Case(HEAD + row() + "\0" * 4000 + "\n" + row() + row(node="n\0"), refused={3: CONTROL, 5: CONTROL}, accepted=(2, 4)),
    "nul_tail.jsonl": Case(JSON + "\0" * 4000, refused={2: CONTROL}, accepted=(1,)),
    "returns.csv": Case(HEAD + row() + row(node="n\r1") + row(), refused={3: CONTROL}, accepted=(2, 4)),
    "long.csv": Case(HEAD + row() + "x" * 1_000_001 + "\n" + row(), refused={3: OVERLONG}, accepted=(2, 4)),
    "longest.jsonl": Case(JSON + '{"a": "' + "x" * 9_000_000 + '"}\n' + JSON, refused={2: OVERLONG}, accepted=(1, 3)),
    "long_name.csv": Case(HEAD + row(node="n" * 301) + row(), refused={2: "node or link has more than 300"}, accepted=(3,)),
    "values.csv": Case(
        HEAD + "".join(row(value) for value in VALUES) + row(),
        refused=dict(enumerate(VALUES.values(), 2)),
        accepted=(len(VALUES) + 2,),
    ),
    "times.csv": Case(
        HEAD + "".join(row(ts=text) for text in TIMES) + row(),
        refused={line: f"time {text} is not ISO 8601" for line, text in enumerate(TIMES, 2)},
        accepted=(len(TIMES) + 2,),
    ),
    "repeated.csv": Case(HEAD + row() * 3, accepted=(2, 3, 4)),
    "kinds.csv": Case(
        HEAD + row().replace("nvlink,", "banana,") + row().replace("gpu0/", "").replace(",0,", ",x,") + row().replace("gpu0/nvlink-1", ""),
        refused={2: "link_type banana is not one of nvlink, pcie", 3: "gpu x is no GPU index", 4: "row names no link"},
    ),
    "lanes.csv": Case("node,link,lane,replay\nn1,gpu0/nvlink-1,x,1\nn1,gpu0/nvlink-1,3,1\n", refused={2: "lane x is no lane number"}, accepted=(3,)),
    "unheard.csv": Case(HEAD.replace("replay", "replay,moon") + row("5,7"), refused={2: "counter moon is not in the catalogue"}, accepted=(2,)),
    "keys.jsonl": Case(
        JSON + JSON.replace("5}", '5, "replay": 6}') + JSON.replace('"replay"', '"re\\"play"'),
        refused={2: "a key stands twice", 3: 'counter re"play is not in the catalogue'},
        accepted=(1,),
    ),
    "array.jsonl": Case("[\n" + JSON.replace("\n", ",\n") + JSON + "]\n", refused=dict.fromkeys((1, 2, 4), "line is not one JSON"), accepted=(3,)),
    "cut_topology/topology.json": Case('{"site": "x", "nodes": [\n{"node": "n1",\n"gpus": [{"gpu"', refused={3: "not readable as JSON"}),
    "future.csv": Case(HEAD + row(ts="2027-11-20T07:00:00Z"), accepted=(2,)),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = {name: case.content for name, case in CASES.items()}
    return write(tmp_path_factory.mktemp("drops") / "bad", files)


@pytest.fixture(scope="module")
def readout(folder: Path) -> Readout:
    return read_drop(folder)


@pytest.mark.parametrize("name", CASES)
def test_each_bad_file_is_told_and_costs_only_itself(readout: Readout, name: str) -> None:
    case, report = CASES[name], readout.report(name)
    assert case.problem in report.problem
    assert bool(case.problem) == bool(report.problem)
    assert tuple(row["line"] for row in readout.accepted(name)) == case.accepted
    refused = readout.refused(name)
    if case.problem:
        assert refused == [(None, report.problem)]
        assert (report.readings, report.rejected) == (0, 1)
    else:
        assert sorted(line for line, _ in refused if line) == sorted(case.refused)
        assert [line for line, rule in refused if case.refused[line or 0] not in rule] == []


def test_everything_read_is_accepted_or_quarantined(readout: Readout) -> None:
    assert readout.balances
    assert len(readout.read.files) == len(CASES)
    assert all(report.sha256 for report in readout.read.files)
    texts = [row["entity_text"] for row in readout.rows("quarantined_telemetry")]
    assert max(len(text) for text in texts) <= 2000
    assert not any(mark in text for text in texts for mark in ("\ufffe", "\uffff"))


def test_quality_says_what_is_odd_of_a_reading(readout: Readout) -> None:
    assert [row["quality"] for row in readout.accepted("future.csv")] == ["clock_skew"]
    assert sorted(row["quality"] for row in readout.accepted("repeated.csv")) == [
        "duplicate", "duplicate", "duplicate"
    ]  # fmt: skip


def test_the_stages_take_the_same_drop_to_its_end(folder: Path, tmp_path: Path) -> None:
    """No table breaks its schema, whatever the files hold; the account balances in the lake too."""
    settings = Settings(root=tmp_path, home=tmp_path / "warehouse")
    drop_id = Ledger(settings.ledger).claim_drop("bad", folder, "0" * 64, READ_AT).drop_id
    results, report = ingest_stage(settings, drop_id, folder, READ_AT)
    results += [
        stage(settings, drop_id)
        for stage in (link_counters_stage, spike_stage, straggler_stage, correlation_stage)
    ]
    results.append(incident_stage(settings, drop_id, READ_AT)[0])
    assert [(result.table, result.violations) for result in results if result.violations] == []
    account = reading_account(settings, drop_id)
    assert account.balances
    assert account.accepted == sum(len(case.accepted) for case in CASES.values())
    assert {one.name for one in report.files if one.problem} == {
        name for name, case in CASES.items() if case.problem
    }


def test_inspect_lists_the_same_files_and_their_problems(folder: Path) -> None:
    answer = json.loads(json.dumps(inspect([folder], READ_AT)))
    formats = {one["path"]: one["format"] for one in answer["inputs"]}
    assert set(formats) == set(CASES)
    for name, case in CASES.items():
        told = [one for one in answer["facts"]["problems"] if one.startswith(f"{name}: ")]
        assert bool(told) == bool(case.problem)
        shown = answer["facts"]["refused_lines"].get(name, [])
        assert all(any(f"line {line}: " in one for one in shown) for line in case.refused)
    unread = [one for one in answer["inputs"] if one["format"] == "unknown"]
    assert {(one["readings"], one["rejected_lines"]) for one in unread} == {(0, 0)}


ZONES = "timezone: Europe/Berlin\n"


def test_two_zones_and_a_clock_set_forward(tmp_path: Path) -> None:
    """Times without an offset are Berlin's; those with one stand for themselves."""
    times = {
        "2026-07-01T10:00:00": "2026-07-01T08:00:00+00:00",
        "2026-07-01T10:00:30+02:00": "2026-07-01T08:00:30+00:00",
        "2026-07-01 08:01:00Z": "2026-07-01T08:01:00+00:00",
        "2026-07-01T03:02:00-05:00": "2026-07-01T08:02:00+00:00",
        "2026-03-29T01:59:30": "2026-03-29T00:59:30+00:00",
        "2026-03-29T02:30:00": "2026-03-29T01:30:00+00:00",  # stood on no clock
        "2026-03-29T03:00:30": "2026-03-29T01:00:30+00:00",
        "2026-10-25T02:30:00": "2026-10-25T01:30:00+00:00",  # stood on the clock twice
    }
    rows = "".join(row(ts=text) for text in times)
    line = '{{"run": "r", "op": "x", "duration_us": 5, "ts": "{}"}}\n'
    event = '{{"node": "n1", "component": "gpu0", "kind": "note", "text": "x", "ts": "{}"}}\n'
    readout = read_files(
        tmp_path,
        {
            "drop.yaml": ZONES,
            "counters.csv": HEAD + rows,
            "collectives.jsonl": "".join(line.format(text) for text in times),
            "events.jsonl": "".join(event.format(text) for text in times),
        },
    )
    wanted = [datetime.fromisoformat(text) for text in times.values()]
    assert [r["ts"] for r in readout.accepted("counters.csv")] == wanted
    assert [r["ts"] for r in readout.rows("collective_timings")] == wanted
    assert [r["ts"] for r in readout.rows("fabric_events")] == wanted
    assert readout.rows("quarantined_telemetry") == []


def test_hints_of_drop_yaml_reach_the_rows(tmp_path: Path) -> None:
    errors = "GPU 2: Some Card\n\t Link 3: Replay Errors: 77\n"
    meta = 'files: {"a.txt": {node: elm-01, time: "2026-07-01T10:00:00"}}\n' + ZONES
    files = {
        "drop.yaml": meta,
        "a.txt": errors,
        "gpu-r01-n03/nvlink.txt": errors,
        "run1/x.txt": errors,
    }
    readout = read_files(tmp_path, files)
    seen = {one["file"]: (one["node"], one["ts"]) for one in readout.rows("link_counters")}
    assert seen == {
        "a.txt": ("elm-01", datetime.fromisoformat("2026-07-01T08:00:00+00:00")),
        "gpu-r01-n03/nvlink.txt": ("gpu-r01-n03", None),
        "run1/x.txt": ("", None),
    }


def test_a_drop_that_cannot_be_understood_does_not_stop_the_others(tmp_path: Path) -> None:
    bad = write(
        tmp_path / "bad", {"drop.yaml": "timezone: Mars/Olympus", "counters.csv": HEAD + row()}
    )
    good = write(tmp_path / "good", {"counters.csv": HEAD + row()})
    settings = Settings(root=tmp_path, home=tmp_path / "warehouse")
    planned = plan(settings, [bad, good], READ_AT)
    assert [one.must_run for one in planned] == [False, True]
    assert planned[0].note == (
        "drop.yaml line 1: timezone 'Mars/Olympus' is not known -> use a name such as Europe/Berlin"
    )
