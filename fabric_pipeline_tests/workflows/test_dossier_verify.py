"""Checking dossiers of drops too large to be taken whole: tampering is found, what is judged again is said."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.sources.drop import sha256_of
from fabric_pipeline.store.duck import session
from fabric_pipeline.workflows import dossier_build, dossier_rows, dossier_weighing, dossier_whole
from fabric_pipeline.workflows.dossier_build import build_dossier
from fabric_pipeline.workflows.dossier_check import DossierCheck, check_dossier
from fabric_pipeline.workflows.dossier_excerpts import excerpt_name
from fabric_pipeline.workflows.dossier_rows import load_csv
from fabric_pipeline_tests.workflows.dossier_drops import START, World, make_world, rehash

COUNTERS = "data/rows/link_counters.csv"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def built(world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untouched dossier, outside the place where other tests build theirs."""
    made = build_excerpt(world, world.accused)
    return Path(shutil.copytree(made, tmp_path_factory.mktemp("built") / made.name))


def build_excerpt(world: World, record: IncidentRecord) -> Path:
    """Build as for a drop that is too large to be taken whole."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dossier_whole, "MAX_DROP_ROWS", 1)
        return build_dossier(world.settings, world.ledger, record, START).path


@pytest.fixture
def bag(built: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    return Path(shutil.copytree(built, tmp_path / "bag"))


def replace(bag: Path, name: str, old: str, new: str) -> None:
    text = (bag / name).read_text(encoding="utf-8")
    assert old in text
    (bag / name).write_text(text.replace(old, new, 1), encoding="utf-8", newline="")


def problems(bag: Path) -> str:
    check = check_dossier(bag)
    assert check.problems
    return "\n".join(check.problems)


def test_an_untouched_dossier_holds_and_is_judged_again(bag: Path, built: Path) -> None:
    check = check_dossier(bag)
    assert check.problems == []
    assert check.files == len((built / "manifest-sha256.txt").read_text().splitlines())
    assert "verdict physical_link_degradation, CRITICAL on the named link end" in check.rerun
    assert "counts of the incident" in check.rerun
    assert "latency and baseline of the incident" in check.rerun
    assert check.verdict.startswith("same incident; not run again: the whole drop is not here")
    assert "1 rows and 16777216 bytes are taken whole" in check.not_rerun[0]
    assert "component, fault, severity and confidence, weighed again beside 2 erring link ends" in (
        check.rerun
    )
    assert check.not_rerun[1:] == [
        "error intervals of the other links: they are taken as recorded",
        "rules unusual_count: they compare with all links of the drop",
    ]


def _flip(bag: Path) -> None:
    path = bag / COUNTERS
    content = bytearray(path.read_bytes())
    content[-9] ^= 1
    path.write_bytes(bytes(content))


def _add(bag: Path) -> None:
    (bag / "data" / "extra.txt").write_text("hello")


def _add_tag(bag: Path) -> None:
    (bag / "notes.txt").write_text("hello")


def _remove(bag: Path) -> None:
    (bag / "data" / "figure.svg").unlink()


def _remove_manifest(bag: Path) -> None:
    (bag / "manifest-sha256.txt").unlink()


def _link_file(bag: Path) -> None:
    shutil.move(bag / "data" / "figure.svg", bag.parent / "figure.svg")
    (bag / "data" / "figure.svg").symlink_to(bag.parent / "figure.svg")


def _link_folder(bag: Path) -> None:
    shutil.move(bag / "data" / "rows", bag.parent / "rows")
    (bag / "data" / "rows").symlink_to(bag.parent / "rows")


def _climb(bag: Path) -> None:
    (bag.parent / "outside.txt").write_text("x")
    line = f"{sha256_of(bag.parent / 'outside.txt')}  data/../../outside.txt\n"
    with (bag / "manifest-sha256.txt").open("a") as handle:
        handle.write(line)


def _absolute(bag: Path) -> None:
    replace(bag, "manifest-sha256.txt", "data/figure.svg", "/data/figure.svg")


def _garble(bag: Path) -> None:
    replace(bag, "manifest-sha256.txt", "  data/figure.svg", " figure")


def _twice(bag: Path) -> None:
    line = (bag / "manifest-sha256.txt").read_text().splitlines()[0]
    with (bag / "manifest-sha256.txt").open("a") as handle:
        handle.write(line + "\n")


def _tag_edited(bag: Path) -> None:
    replace(bag, "bag-info.txt", "Bagging-Date: 2031", "Bagging-Date: 2030")


def _tag_unlisted(bag: Path) -> None:
    text = (bag / "tagmanifest-sha256.txt").read_text().splitlines(keepends=True)
    (bag / "tagmanifest-sha256.txt").write_text("".join(text[1:]))


def _declaration(bag: Path) -> None:
    replace(bag, "bagit.txt", "1.0", "9.0")


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (_flip, "link_counters.csv: its content does not have the hash"),
        (_add, "data/extra.txt: is there but not listed"),
        (_add_tag, "notes.txt: is there but not listed"),
        (_remove, "data/figure.svg: is listed in manifest-sha256.txt but not there"),
        (_remove_manifest, "manifest-sha256.txt: is missing"),
        (_link_file, "data/figure.svg: is a symbolic link"),
        (_link_folder, "data/rows: is a symbolic link"),
        (_climb, "a path that leaves the dossier is refused: data/../../outside.txt"),
        (_absolute, "a path that leaves the dossier is refused: /data/figure.svg"),
        (_garble, "is no hash with a file name"),
        (_twice, "is listed twice"),
        (_tag_edited, "bag-info.txt: its content does not have the hash"),
        (_tag_unlisted, "does not list bagit.txt"),
        (_declaration, "is not the declaration of a BagIt 1.0 folder"),
    ],
)
def test_a_spoilt_bag_is_found(bag: Path, spoil: Callable[[Path], None], says: str) -> None:
    spoil(bag)
    check = check_dossier(bag)
    assert any(says in problem for problem in check.problems), check.problems
    assert check.rerun == []


def test_no_folder_at_all(tmp_path: Path) -> None:
    assert check_dossier(tmp_path / "none") == DossierCheck(
        [f"{tmp_path / 'none'}: is no folder"], 0
    )


def test_an_edited_incident_does_not_have_its_hash(bag: Path) -> None:
    replace(bag, "data/incident.json", '"CRITICAL"', '"WARNING"')
    rehash(bag)
    found = problems(bag)
    assert "does not have its own evidence_sha256" in found
    assert "the rows alone give physical_link_degradation CRITICAL" in found


def test_without_the_inputs_of_the_weighing_the_confidence_is_not_run_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dossier_weighing, "MAX_WEIGHING_ROWS", 1)
    path = build_excerpt(world, world.accused)
    assert not (path / "data" / "weighing").exists()
    check = check_dossier(path)
    assert check.problems == []
    said = "confidence of the link: it is weighed beside all links and runs of the drop"
    assert said in check.not_rerun


def test_inputs_of_the_weighing_that_were_altered_show(bag: Path) -> None:
    path = bag / "data" / "weighing" / "link_counters.parquet"
    with closing(session()) as con:
        con.execute(f"create temp table t as from read_parquet('{path}')")
        con.execute("update t set delta = delta * 3 where counter = 'crc_multi_bit'")
        con.execute(f"copy t to '{path}' (format parquet)")
    rehash(bag)
    assert "weighing/link_counters do not hold the same rows of the link" in problems(bag)


def test_csv_and_parquet_must_agree(bag: Path) -> None:
    replace(bag, COUNTERS, ",1350.0,", ",9350.0,")
    rehash(bag)
    found = problems(bag)
    assert "rows/link_counters: CSV and Parquet do not hold the same rows" in found


def test_rows_forged_in_both_forms_contradict_their_readings(bag: Path) -> None:
    rows = bag / "data" / "rows"
    with closing(session()) as con:
        load_csv(con, rows / "link_counters.csv", TABLES["link_counters"], "forged")
        con.execute("update forged set delta = delta * 3 where counter = 'crc_multi_bit'")
        for end in ("csv", "parquet"):
            con.execute(f"copy forged to '{rows}/link_counters.{end}' (format {end})")
    rehash(bag)
    found = problems(bag)
    assert "increments of the link ends from their readings: 30 rows are on one side only" in found
    assert "crc_multi_bit is 1350.0 in the incident, 4050.0 in the rows" in found


def test_a_removed_reading_shows_in_csv_and_parquet(bag: Path) -> None:
    text = (bag / "data/rows/raw_telemetry.csv").read_text().splitlines(keepends=True)
    (bag / "data/rows/raw_telemetry.csv").write_text("".join(text[:-1]))
    rehash(bag)
    assert "rows/raw_telemetry: CSV and Parquet" in problems(bag)


def test_a_record_with_other_figures_is_contradicted(world: World) -> None:
    record = world.accused
    numbers = {**record.numbers, "counts": {**record.numbers["counts"], "crc_multi_bit": 7.0}}
    rules = [rule for rule in record.rules if rule.rule_id == "unusual_count"]
    forged = record.model_copy(update={"numbers": numbers, "rules": rules, "latency_us": 5.0})
    path = build_excerpt(world, forged)
    found = problems(path)
    assert "crc_multi_bit is 7.0 in the incident, 1350.0 in the rows" in found
    assert "replay_plain_limit fires but is not stated" in found
    assert "5.0 us against 1000.0 us is none of these intervals" in found


def test_excerpts_must_hold_the_cited_lines_of_the_cited_file(bag: Path, world: World) -> None:
    ref = next(ref for ref in world.accused.evidence if ref.file == "counters.csv")
    name = f"data/excerpts/{excerpt_name('counters.csv')}"
    replace(bag, name, f"\n{ref.line}\t", "\n999999\t")
    replace(bag, name, f"whole file: {ref.sha256}", f"whole file: {'0' * 64}")
    (bag / "data/excerpts" / excerpt_name("collectives.csv")).unlink()
    rehash(bag)
    found = problems(bag)
    assert f"it lacks line {ref.line}" in found
    assert "is of another file than the incident cites" in found
    assert "there is no excerpt of collectives.csv" in found


def test_rows_must_stand_in_their_lines(bag: Path) -> None:
    name = f"data/excerpts/{excerpt_name('counters.csv')}"
    replace(bag, name, ",1350,", ",1340,")
    rehash(bag)
    assert "shown lines read again give the recorded rows: 2 rows are on one side only" in problems(
        bag
    )


@pytest.mark.parametrize("name", ["incident.json", "lineage.json", "ledger.json", "versions.json"])
@pytest.mark.parametrize("content", ["", "[]", "{}", "\udcff", '{"scope": 3}'])
def test_broken_json_is_a_problem_not_a_crash(bag: Path, name: str, content: str) -> None:
    (bag / "data" / name).write_bytes(content.encode("utf-8", "surrogateescape"))
    rehash(bag)
    assert name in problems(bag)


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b'drop\n"x', b"\xff\xfe\x00"])
def test_broken_rows_are_a_problem_not_a_crash(bag: Path, content: bytes) -> None:
    (bag / COUNTERS).write_bytes(content)
    rehash(bag)
    assert "rows/link_counters: cannot be read" in problems(bag)


def test_missing_rows_are_a_problem_not_a_crash(bag: Path) -> None:
    (bag / COUNTERS).unlink()
    rehash(bag)
    assert "rows/link_counters: is missing" in problems(bag)


def test_cut_rows_are_said_not_judged(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dossier_weighing, "MAX_WEIGHING_ROWS", 1)
    few = partial(dossier_rows.pick_rows, bound=60)
    monkeypatch.setattr(dossier_build, "pick_rows", few)
    path = build_excerpt(world, world.accused)
    check = check_dossier(path)
    assert check.problems == []
    said = "\n".join(check.not_rerun)
    for part in ("increments from readings", "error intervals", "slow intervals", "confidence"):
        assert part in said
    facts = json.loads((path / "data" / "lineage.json").read_text())["rows"]["link_counters"]
    assert (facts["written"], facts["matched"]) == (60, 240)
