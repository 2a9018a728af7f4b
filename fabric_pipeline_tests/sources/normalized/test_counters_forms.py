"""The same readings in every form of the normalized counters give the same rows of link_counters."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric_pipeline.store.duck import literal, session
from fabric_pipeline_tests.workflows.readout import Readout, read_drop, read_files

IDENTITY = ["ts", "node", "socket", "gpu", "gpu_uuid", "link_type", "link", "lane"]
COUNTERS = ["replay", "crc_multi_bit", "speed_gbps", "state"]
HEAD = "ts,node,gpu,link_type,link,replay\n"
Record = dict[str, Any]  # identity and counters of one wide row; None: not measured

START = datetime(2026, 3, 4, 5, tzinfo=UTC)
LINKS = [
    ("nvlink", "gpu5/nvlink-11", 5),
    ("pcie", "gpu5/pcie", 5),
    ("infiniband", "mlx5_3/1", None),
]
HOSTILE = [
    'a "quoted" name', "comma, name", "<script>alert(1)</script>", "'; drop table raw_telemetry; --",
    "\N{FIRE}\N{SNOWMAN}", "\N{RIGHT-TO-LEFT OVERRIDE}abc", "=cmd|' /C calc'!A0", "ünïcode", "{brace}",
]  # fmt: skip
names = st.sampled_from(["n01", "elm-07", *HOSTILE]) | st.text(
    st.characters(exclude_categories=["Cc", "Cs", "Zs", "Zl", "Zp"]), min_size=1, max_size=12
).filter(lambda name: "\ufffd" not in name and not {"\ufffe", "\uffff"} & set(name))
records = st.fixed_dictionaries(
    {
        "ts": st.integers(0, 10**6).map(lambda s: (START + timedelta(seconds=s)).isoformat()),
        "node": names,
        "socket": st.none() | st.integers(0, 1),
        "gpu_uuid": st.none() | st.just("GPU-1f"),
        "lane": st.none() | st.integers(0, 15),
        "place": st.sampled_from(LINKS),
        "replay": st.none() | st.integers(0, 2**53),
        "crc_multi_bit": st.none() | st.integers(0, 10**6) | st.just(9223372036854775794),
        "speed_gbps": st.none() | st.floats(0, 1e6, allow_subnormal=False),
        "state": st.none() | st.sampled_from(["active", "Down", "N/A"]),
    }
).map(lambda r: r | dict(zip(("link_type", "link", "gpu"), r.pop("place"), strict=True)))


def _long(rows: Sequence[Record]) -> list[Record]:
    return [
        {name: row[name] for name in IDENTITY} | {"counter": name, "value": row[name]}
        for row in rows
        for name in COUNTERS
        if row[name] is not None
    ]


def _csv(columns: Sequence[str], rows: Sequence[Record]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([["" if row[c] is None else row[c] for c in columns] for row in rows])
    return text.getvalue().encode()


def _jsonl(columns: Sequence[str], rows: Sequence[Record]) -> bytes:
    lines = (json.dumps({c: row[c] for c in columns}, ensure_ascii=False) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()


def _parquet(columns: Sequence[str], rows: Sequence[Record]) -> bytes:
    types = {"ts": "timestamptz", "socket": "integer", "gpu": "double", "lane": "bigint"}
    types |= {"replay": "bigint", "crc_multi_bit": "ubigint", "speed_gbps": "double"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.parquet"
        con = session()
        ddl = ", ".join(f'"{c}" {types.get(c, "varchar")}' for c in columns)
        con.execute(f"create temp table made ({ddl})")
        marks = ", ".join("?" for _ in columns)
        for row in rows:
            con.execute(f"insert into made values ({marks})", [row[c] for c in columns])
        con.execute(f"copy made to {literal(str(path))} (format parquet)")
        con.close()
        return path.read_bytes()


FORMS: dict[str, Callable[[Sequence[str], Sequence[Record]], bytes]] = {
    "csv": _csv,
    "jsonl": _jsonl,
    "parquet": _parquet,
}
WIDE, LONG = [*IDENTITY, *COUNTERS], [*IDENTITY, "counter", "value"]


def _kept(readout: Readout, file: str) -> list[tuple[Any, ...]]:
    """Rows of one file without what differs by form: place in the file, and the series' order."""
    same = (
        "node", "interface", "lane", "link_type", "counter", "kind", "scope", "ts", "value",
        "quality", "error_class", "class_basis", "gpu_uuid", "socket", "state", "delta", "elapsed_s",
    )  # fmt: skip
    rows = ([row[name] for name in same] for row in readout.rows("link_counters", file))
    return sorted((tuple(row) for row in rows), key=repr)


@given(st.lists(records, min_size=1, max_size=5, unique_by=lambda r: (r["ts"], r["node"])))
@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
def test_all_six_forms_read_back_equal(rows: list[Record]) -> None:
    """Every form comes with a node name of its own, so that one drop holds all six."""
    if all(row[name] is None for row in rows for name in COUNTERS):
        rows[0]["replay"] = 7  # a long file without any row says nothing of its own form
    with tempfile.TemporaryDirectory() as folder:
        for number, (kind, render) in enumerate(FORMS.items()):
            for shape, columns in (("wide", WIDE), ("long", LONG)):
                named = [row | {"node": f"{row['node']}@{number}{shape}"} for row in rows]
                shaped = named if shape == "wide" else _long(named)
                (Path(folder) / f"{number}{shape}.{kind}").write_bytes(render(columns, shaped))
        readout = read_drop(Path(folder))
    assert [report.problem for report in readout.read.files] == [""] * 6
    assert readout.balances
    assert readout.rows("quarantined_telemetry") == []
    found = [
        [(row[0].rpartition("@")[0], *row[1:]) for row in _kept(readout, report.name)]
        for report in readout.read.files
    ]
    measured = sum(row[name] is not None for row in rows for name in COUNTERS)
    assert len(found[0]) == measured
    assert all(sorted(one, key=repr) == sorted(found[0], key=repr) for one in found)


def test_an_empty_cell_is_not_measured_and_never_zero(tmp_path: Path) -> None:
    row = {"ts": "2026-03-04T05:00:00Z", "node": "n1", "link": "gpu0/nvlink-1", "replay": None}
    long = {**row, "counter": "replay", "value": None}
    del long["replay"]
    readout = read_files(
        tmp_path,
        {
            "wide.csv": HEAD + "2026-03-04T05:00:00Z,n1,0,nvlink,gpu0/nvlink-1,\n",
            "wide.jsonl": json.dumps(row | {"crc_flit": 3}) + "\n",
            "long.csv": "ts,node,link,counter,value\n2026-03-04T05:00:00Z,n1,gpu0/nvlink-1,replay,\n",
            "long.jsonl": json.dumps(long) + "\n",
        },
    )
    assert [(row["counter"], row["value"]) for row in readout.rows("link_counters")] == [
        ("crc_flit", 3)
    ]
    assert readout.refused("long.csv") == [(2, "row has no value")]
    assert readout.refused("long.jsonl") == [(1, "row has no value")]


@pytest.mark.parametrize("blank", ["N/A", "[N/A]", "skip", "nan", "9223372036854775794"])
def test_a_blank_is_not_supported(tmp_path: Path, blank: str) -> None:
    text = HEAD + f"2026-03-04T05:00:00Z,n1,0,nvlink,gpu0/nvlink-1,{blank}\n"
    readout = read_files(tmp_path, {"counters.csv": text})
    (row,) = readout.rows("link_counters")
    assert (row["value"], row["quality"]) == (None, "not_supported")
    assert readout.report("counters.csv").readings == 0


def _row(link: int, value: object = 5) -> str:
    return f"2026-03-04T05:00:00Z,n1,0,nvlink,gpu0/nvlink-{link},{value}\n"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param(f"\n\n{HEAD}\n{_row(1)}\n\n{_row(2)}", [5, 8], id="blank lines"),
        pytest.param(f"\n{HEAD}\n{_row(1)}".replace("\n", "\r\n"), [4], id="CRLF"),
        pytest.param(f"\n{HEAD}\n{_row(1)}".replace("\n", "\r\r\n"), [4], id="converted twice"),
        pytest.param(f"{HEAD}\r\n\r\n{_row(1)}\r\n{_row(2)}", [4, 6], id="mixed line ends"),
        pytest.param("\ufeff" + HEAD + _row(1), [2], id="byte order mark"),
        pytest.param("  \t \n" + HEAD + _row(1), [3], id="blanks before the header"),
        pytest.param(HEAD + _row(1).replace("n1", '"n, ""1"""') + _row(2), [2, 3], id="quotes"),
        pytest.param(HEAD + _row(1).rstrip("\n"), [2], id="no line end at the end"),
        pytest.param(
            HEAD + _row(1).replace("n1", "a\u2028b\x0bc") + _row(2), [2, 3], id="separators"
        ),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_lines_are_those_of_the_file(
    tmp_path: Path, text: str, lines: list[int], encoding: str
) -> None:
    data = text.removeprefix("\ufeff").encode("utf-16") if encoding == "utf-16" else text.encode()
    readout = read_files(tmp_path, {"counters.csv": data})
    assert readout.report("counters.csv").problem == ""
    assert readout.refused("counters.csv") == []
    assert [row["line"] for row in readout.accepted("counters.csv")] == lines


def test_lines_of_jsonl_and_rows_of_parquet(tmp_path: Path) -> None:
    line = '{"node": "n1", "link": "gpu0/nvlink-1", "link_type": "nvlink", "replay": %d}'
    first = dict.fromkeys(WIDE) | {"node": "n1", "link": "gpu0/nvlink-1", "replay": 1}
    files = {
        "a.jsonl": f"\n{line % 1}\r\n\r\n{line % 2}\n",
        "b.parquet": _parquet(WIDE, [first, first | {"replay": None}, first | {"replay": 3}]),
    }
    readout = read_files(tmp_path, files)
    assert [row["line"] for row in readout.accepted("a.jsonl")] == [2, 4]
    assert [row["line"] for row in readout.accepted("b.parquet")] == [1, 3]


def test_names_are_data(tmp_path: Path) -> None:
    """In JSON a name may hold anything; nothing of it is executed, cut or mixed up."""
    written = [*HOSTILE, "two\nlines", "tab\tname", "nul\x00name", "back\\slash", "$.node", "/~0"]
    rows = [
        {"node": name, "link": f"{name}/port-1", "link_type": "nvlink", "replay": 4, name: 1}
        for name in written
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    readout = read_files(tmp_path, {"counters.jsonl": text}, is_checked=True)
    accepted = readout.accepted("counters.jsonl")
    assert [(row["node"], row["interface"]) for row in accepted] == [
        (name, f"{name}/port-1") for name in written
    ]
    refused = sorted(readout.rows("quarantined_telemetry"), key=lambda row: row["line"])
    assert [row["counter_text"] for row in refused] == written
    assert {rule.partition(" is ")[2] for _, rule in readout.refused("counters.jsonl")} == {
        "not in the catalogue: kept here, not judged"
    }
    assert readout.violations == []


def test_numbers_that_pandas_makes_of_whole_columns(tmp_path: Path) -> None:
    """A column of GPU indices with gaps becomes one of floats there."""
    row = dict.fromkeys(WIDE) | {"node": "n1", "link_type": "nvlink", "link": "nvlink-2"}
    row |= {"gpu": 5.0, "replay": 9}
    columns = [*IDENTITY, "replay"]
    text = "node,gpu,link_type,link,lane,replay\nn1,5.0,nvlink,nvlink-2,2.0,9\n"
    readout = read_files(
        tmp_path,
        {
            "a.parquet": _parquet(columns, [row]),
            "b.csv": text,
            "c.csv": text.replace("5.0", "GPU5"),
        },
    )
    assert {row["interface"] for row in readout.rows("link_counters")} == {"gpu5/nvlink-2"}
    assert [row["lane"] for row in readout.accepted("b.csv")] == [2]
    assert readout.rows("quarantined_telemetry") == []


def test_columns_with_names_of_our_own(tmp_path: Path) -> None:
    """A column may be called like one that the reading step uses itself."""
    made = ["node", "link", "link_type", "line", "line_text", "broken", "c1", "replay"]
    row = dict.fromkeys(made, "7") | {"node": "n1", "link": "gpu0/nvlink-1", "link_type": "nvlink"}
    text = ",".join(made) + "\n" + ",".join(row.values()) + "\n"
    readout = read_files(
        tmp_path / "drop=2" / "node=x",
        {"a.parquet": _parquet(made, [row | {"replay": 7}]), "b.csv": text, "c[1]*.csv": text},
    )
    for report in readout.read.files:
        (accepted,) = readout.accepted(report.name)
        assert (accepted["value"], accepted["node"], accepted["line"] < 3) == (7, "n1", True)
        assert len(readout.refused(report.name)) == 4
