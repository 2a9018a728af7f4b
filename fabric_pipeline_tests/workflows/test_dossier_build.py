"""Building dossiers: what is in them, that a rebuild is the same, and what hostile text becomes."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from fabric_pipeline.errors import FabricError, UsageError
from fabric_pipeline.incidents.build import evidence_hash
from fabric_pipeline.incidents.record import Evidence
from fabric_pipeline.model.sql import sql_text
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.settings import Settings
from fabric_pipeline.store import lake
from fabric_pipeline.store.columns import insert_columns
from fabric_pipeline.store.duck import session
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.dossier_build import Dossier, build_dossier, build_dossiers
from fabric_pipeline.workflows.dossier_check import check_dossier
from fabric_pipeline.workflows.dossier_excerpts import excerpt_name, read_excerpt
from fabric_pipeline.workflows.dossier_rows import (
    ROW_TABLES,
    load_csv,
    pick_rows,
    queries_text,
    write_rows,
)
from fabric_pipeline.workflows.dossier_scope import LineRange, Scope
from fabric_pipeline_tests.store.fakes import draft
from fabric_pipeline_tests.workflows.dossier_drops import HOSTILE, START, World, make_world, process


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def dossier(world: World) -> Dossier:
    return build(world)


def build(world: World, *, hours: float = 0, run_id: str = "run-1") -> Dossier:
    at = START + timedelta(hours=hours)
    return build_dossier(world.settings, world.ledger, world.accused, at, run_id=run_id)


def data(dossier: Dossier, name: str) -> str:
    return (dossier.path / "data" / name).read_text(encoding="utf-8")


def test_holds_everything_it_names(world: World, dossier: Dossier) -> None:
    assert dossier.path == world.settings.dossiers / f"{world.accused.incident_id}--tiny"
    names = {
        p.relative_to(dossier.path / "data").as_posix() for p in dossier.path.rglob("data/**/*")
    }
    assert {f"rows/{table}.{end}" for table in ROW_TABLES for end in ("csv", "parquet")} <= names
    assert {"incident.json", "queries.sql", "versions.json", "lineage.json", "ledger.json"} <= names
    assert "ticket.json" not in names
    assert dossier.files == sum((dossier.path / "data" / name).is_file() for name in names)
    assert json.loads(data(dossier, "ledger.json"))["chain_head"] == dossier.chain_head
    limits = json.loads(data(dossier, "versions.json"))["limits"]
    assert limits["SpikeLimits"]["replay_per_hour"] == 1000
    assert limits["StragglerLimits"]["floor"] == 0.05
    assert limits["IsolationLimits"]["severe_pct"] == 50
    weighing = json.loads(data(dossier, "versions.json"))["weighing"]
    assert (weighing["accuse_from"], weighing["suspect_from"]) == (0.7, 0.5)
    assert weighing["score_card"]["weights"]
    readers = json.loads(data(dossier, "versions.json"))["readers"]
    assert readers["collectives.csv"]["format"] == "fabric_collectives"
    facts = json.loads(data(dossier, "lineage.json"))
    assert facts["run_id"] == "run-1"
    part = lake.part_path(world.settings.lake, "link_counters", "tiny")
    checked = subprocess.run(["sha256sum", part], capture_output=True, text=True, check=True)
    assert checked.stdout.split()[0] == facts["tables"]["link_counters"]["sha256"]


def test_sha256sum_accepts_it(dossier: Dossier) -> None:
    for manifest in ("manifest-sha256.txt", "tagmanifest-sha256.txt"):
        done = subprocess.run(
            ["sha256sum", "--strict", "-c", manifest], cwd=dossier.path, capture_output=True
        )
        assert done.returncode == 0, done.stderr


def test_the_check_in_the_readme_works_as_printed(dossier: Dossier) -> None:
    (script,) = re.findall(r'^python3 -c ".*?^"$', data(dossier, "README.txt"), re.M | re.S)
    done = subprocess.run(["bash", "-c", script], cwd=dossier.path, capture_output=True, text=True)
    assert done.stdout == "True\n"


def test_the_printed_queries_find_the_same_rows(world: World, dossier: Dossier) -> None:
    statements = [part for part in data(dossier, "queries.sql").split(";\n") if "select" in part]
    with closing(session()) as con:
        for table, statement in zip(ROW_TABLES, statements, strict=True):
            lake.attach_all(con, world.settings.lake, table)
            again = con.execute(statement).fetchall()
            parquet = str(dossier.path / "data" / "rows" / f"{table}.parquet")
            kept = con.execute("select * from read_parquet(?)", [parquet]).fetchall()
            assert again == kept
            assert len(again) > 0


def test_rows_and_lines_are_those_of_the_link_alone(world: World, dossier: Dossier) -> None:
    rows = csv.DictReader(data(dossier, "rows/raw_telemetry.csv").splitlines())
    ends = {f"{row['node']}:{row['interface']}" for row in rows}
    assert ends == {"calc-01:gpu1/nvlink-2", "calc-01:nvswitch-1/port-2"}
    source = (world.drop / "counters.csv").read_text().splitlines()
    excerpt = read_excerpt(dossier.path / "data" / "excerpts" / excerpt_name("counters.csv"))
    assert excerpt.state == "unchanged"
    assert all(source[number - 1] == text for number, text in excerpt.lines.items())
    cited = {ref.line for ref in world.accused.evidence if ref.file == "counters.csv"}
    assert cited <= excerpt.lines.keys()
    assert len(excerpt.lines) == 81  # the header, and two ends at 40 times


def contents(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }


def test_a_rebuild_is_the_same_whenever_and_by_whatever_run(world: World) -> None:
    first = build(world)
    before = contents(first.path)
    second = build(world, hours=5, run_id="run-2")
    assert contents(second.path) == before
    assert json.loads(data(second, "lineage.json"))["run_id"] == "run-1"
    assert "Run-Id: run-1" in (second.path / "bag-info.txt").read_text()
    shutil.rmtree(second.path)
    assert contents(build(world, hours=9).path) == before
    assert sorted(p.name for p in world.settings.dossiers.iterdir()) == [".lock", first.path.name]


def test_two_homes_give_the_same_bytes_from_the_same_facts(world: World, tmp_path: Path) -> None:
    """Facts are: the drop, its id, the times that the ledger recorded, the run id, and the software."""
    first = build(world)
    settings = Settings(root=tmp_path, home=tmp_path / "elsewhere")
    ledger = Ledger(settings.ledger)
    copied = Path(shutil.copytree(world.drop, tmp_path / "other place" / "tiny"))
    (record,) = [one for one in process(copied, settings, ledger) if one.needs_ticket]
    second = build_dossier(settings, ledger, record, START + timedelta(days=400), run_id="run-1")
    done = subprocess.run(["diff", "-r", first.path, second.path], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
    assert (
        f"Bagging-Date: {START.date().isoformat()}\n" in (second.path / "bag-info.txt").read_text()
    )


def test_several_dossiers_of_a_drop_are_those_built_one_by_one(
    world: World, tmp_path: Path
) -> None:
    together = build_dossiers(world.settings, world.ledger, world.records, START, run_id="run-1")
    assert [one.incident_id for one in together] == [one.incident_id for one in world.records]
    for record, one in zip(world.records, together, strict=True):
        kept = Path(shutil.move(one.path, tmp_path / one.path.name))
        alone = build_dossier(world.settings, world.ledger, record, START, run_id="run-1")
        assert contents(alone.path) == contents(kept)


def test_ticket_and_reviews_come_in(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    before = build(world)
    record = world.accused
    ticket = draft(drop="tiny", incident_id=record.incident_id, node="calc-01")
    world.ledger.record_draft(ticket, START)
    world.ledger.add_review(ticket.ticket_id, ticket.sha256, "rejected", "Mara", "no port", START)
    after = build(world)
    assert after.manifest_sha256 != before.manifest_sha256
    assert after.chain_head == world.ledger.chain_head() != before.chain_head
    assert json.loads(data(after, "ticket.json"))["draft"]["text"]["title"] == "Reseat the cable"
    (review,) = json.loads(data(after, "reviews.json"))
    assert (review["reviewer"], review["reason"], review["draft_sha256"]) == (
        "Mara",
        "no port",
        ticket.sha256,
    )
    assert "ticket.json" in data(after, "README.txt")
    assert check_dossier(after.path).problems == []


def test_a_changed_or_missing_source_is_stated(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    (world.drop / "counters.csv").write_text("something else\n")
    (world.drop / "collectives.csv").unlink()
    dossier = build(world)
    info = (dossier.path / "bag-info.txt").read_text()
    assert "Source-Note: counters.csv: CHANGED" in info
    assert "Source-Note: collectives.csv: GONE" in info
    changed = data(dossier, f"excerpts/{excerpt_name('counters.csv')}")
    assert "# state: changed" in changed
    assert "something else" not in changed
    assert "# state: gone" in data(dossier, f"excerpts/{excerpt_name('collectives.csv')}")
    check = check_dossier(dossier.path)
    assert check.problems == []
    assert [text for text in check.not_rerun if text.startswith("lines of counters.csv: CHANGED")]


def test_an_unknown_drop_and_a_name_that_leads_out(tmp_path: Path, world: World) -> None:
    refs = [
        Evidence(evidence_id="E1", file="../../secret.txt", line=1),
        Evidence(evidence_id="E2", file="/etc/hostname", line=1),
    ]
    record = world.accused.model_copy(update={"evidence": refs})
    record = record.model_copy(update={"evidence_sha256": evidence_hash(record)})
    (world.settings.home / "secret.txt").write_text("keep out\n")
    built = build_dossier(world.settings, world.ledger, record, START)
    for ref in refs:
        text = data(built, f"excerpts/{excerpt_name(ref.file)}")
        assert "# state: outside" in text
        assert "keep out" not in text
    unknown = build_dossier(world.settings, Ledger(tmp_path / "other.sqlite"), record, START)
    assert "# state: gone" in data(unknown, f"excerpts/{excerpt_name(refs[0].file)}")
    # The drop does not give a record that cites such files; nothing else is wrong with the dossier.
    problems = check_dossier(unknown.path).problems
    assert {one.partition(":")[0] for one in problems} == {"the whole diagnosis of the drop"}


def test_hostile_names_are_data(tmp_path: Path) -> None:
    world = make_world(tmp_path, HOSTILE)
    dossier = build(world)
    assert check_dossier(dossier.path).problems == []
    rows = list(csv.DictReader(data(dossier, "rows/link_counters.csv").splitlines()))
    assert {row["node"] for row in rows} == {"'=cmd()|calc"}
    events = list(csv.DictReader(data(dossier, "rows/fabric_events.csv").splitlines()))
    assert events[0]["text"].startswith("'@SUM(1+1)")
    runs = list(csv.DictReader(data(dossier, "rows/collective_timings.csv").splitlines()))
    assert "'; drop table x; --" in json.loads(runs[0]["run_nodes"])
    picture = ElementTree.fromstring(data(dossier, "figure.svg"))  # noqa: S314 - our own file
    assert {element.tag.rpartition("}")[2] for element in picture.iter()} == {
        "svg", "title", "rect", "text", "path",
    }  # fmt: skip
    # A link of the host with a script for a name: every text file stays text.
    record = world.accused.model_copy(
        update={"isolated_component": "<script>alert(1)</script>:gpu1/nvlink-2\n# state: x"}
    )
    built = build_dossier(world.settings, world.ledger, record, START)
    assert "<script>" not in data(built, "figure.svg")
    assert "nvlink-2\\u000a# state: x\n" in data(built, "README.txt")


def test_missing_tables_and_old_tables(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    lake.remove(world.settings.lake, "fabric_topology", "tiny")
    lake.remove(world.settings.lake, "straggler_correlations", "tiny")
    dossier = build(world)
    assert "The drop has no table straggler_correlations." in data(dossier, "README.txt")
    assert "has no such table" in data(dossier, "queries.sql")
    assert check_dossier(dossier.path).problems == []
    with closing(session()) as con:
        lake.write_table(con, "select 1 as old", world.settings.lake, "stragglers", "tiny")
    with pytest.raises(FabricError, match="run the drop 'tiny' again"):
        build(world)
    assert check_dossier(dossier.path).problems == []  # the earlier dossier is untouched


def test_other_records_and_wrong_ids(world: World) -> None:
    process(world.drop, world.settings, world.ledger)  # a second run over the same drop
    nothing = world.accused.model_copy(
        update={"incident_id": "INC-0", "isolated_component": "none", "far_end": "", "evidence": [],
                "affected_runs": [], "symptoms": []}
    )  # fmt: skip
    built = build_dossier(world.settings, world.ledger, nothing, START)
    assert "no time axis" in data(built, "figure.svg")
    assert json.loads(data(built, "lineage.json"))["rows"]["link_counters"]["written"] == 0
    for incident_id, drop in (("../x", "tiny"), ("INC-1", "../tiny")):
        wrong = nothing.model_copy(update={"incident_id": incident_id, "drop": drop})
        with pytest.raises(UsageError):
            build_dossier(world.settings, world.ledger, wrong, START)


def test_a_bound_cuts_and_says_so(world: World) -> None:
    scope = Scope("tiny", (("calc-01", "gpu1/nvlink-2"),), (), ("train-7",), ())
    with closing(session()) as con:
        lake.attach(con, world.settings.lake, "link_counters", "tiny")
        lake.attach(con, world.settings.lake, "collective_timings", "tiny")
        rows = {one.table: one for one in pick_rows(con, scope, {"link_counters"}, bound=50)}
    assert (rows["link_counters"].written, rows["link_counters"].matched) == (50, 120)
    assert not rows["link_counters"].is_complete
    assert "CUT, the first 50 of 120 matching rows" in queries_text(list(rows.values()))


def test_excerpts_of_odd_files(world: World) -> None:
    long = "x" * 200_000
    odd = b"\xef\xbb\xbffirst\r\n\x1b[31mred \xff\tend\n" + long.encode() + b"\nlast"
    (world.drop / "odd.log").write_bytes(odd)
    (world.drop / "rows.parquet").write_bytes(b"PAR1\0\0\0PAR1")
    (world.drop / "wide.txt").write_bytes("a\nb\n".encode("utf-16"))
    refs = [
        Evidence(evidence_id="E1", file="odd.log", line=1, last_line=9),
        Evidence(evidence_id="E2", file="rows.parquet", line=3),
        Evidence(evidence_id="E3", file="wide.txt", line=2),
    ]
    record = world.accused.model_copy(update={"evidence": refs})
    built = build_dossier(world.settings, world.ledger, record, START)
    folder = built.path / "data" / "excerpts"
    lines = read_excerpt(folder / excerpt_name("odd.log")).lines
    assert lines[1] == "first"
    assert lines[2] == "\\u001b[31mred \ufffd\tend"
    assert lines[3] == "x" * 4000 + " [line cut here]"
    assert lines[4] == "last"
    assert read_excerpt(folder / excerpt_name("rows.parquet")).state == "binary"
    assert read_excerpt(folder / excerpt_name("wide.txt")).lines == {1: "a", 2: "b"}


@hypothesis_settings(max_examples=5, deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=12), min_size=1, max_size=60))
def test_text_comes_back_from_csv_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    table = TABLES["fabric_events"]
    folder = tmp_path_factory.mktemp("csv")
    values = {"drop": "d", "kind": "k", "role": "cause", "severity": "info", "count": 1, "line": 1}
    with closing(session()) as con:
        con.execute(f"create temp table fabric_events as {table.empty_sql()}")
        rows = [
            [values.get(c.name, text if c.type == "VARCHAR" else None) for c in table.columns]
            for text in texts
        ]
        insert_columns(con, "fabric_events", [(c.name, c.type) for c in table.columns], rows)
        scope = Scope("d", (), (), (), tuple(LineRange(text, 1, 1) for text in texts))
        pick_rows(con, scope, {"fabric_events"})
        write_rows(con, folder / "rows")
        load_csv(con, folder / "rows" / "fabric_events.csv", table, "again")
        kept = con.execute("select text from again order by text").fetchall()
        assert kept == con.execute("select text from fabric_events order by text").fetchall()
        spelt = con.execute(f"select [{', '.join(sql_text(text) for text in texts)}]").fetchone()
        assert spelt == (texts,)
    written = (folder / "rows" / "fabric_events.csv").read_bytes().decode()
    for row in csv.reader(written.splitlines(keepends=True)):
        assert not any(cell[:1] in set("=+-@\t\r\n") for cell in row if cell)
