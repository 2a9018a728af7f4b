"""`data/examples` is what the product makes today, and holds together: bags whole, links that lead somewhere."""

from __future__ import annotations

import difflib
import json
import re
from pathlib import Path

import duckdb
import pytest

from demo.examples import AUDIT, OTHERS, SHIPPED, example_files
from demo.shipped_examples import dossier_folders, drops_of, run_shipped
from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.settings import Settings
from fabric_pipeline.workflows.dossier_bag import check_bag
from fabric_pipeline_tests.pipeline_runs import ROOT
from fabric_pipeline_tests.test_docs import targets_of

FOLDER = ROOT / "data" / "examples"
FAULTS = sorted((FOLDER / OTHERS).iterdir())
DOSSIERS = sorted(path.parent for path in FOLDER.rglob("bagit.txt"))
AGAIN = "write the examples again: make examples"
MOST_BYTES = 14_000_000
# They name the versions of Python and packages, or the hash of the file that does.
BY_VERSION = ("data/versions.json", "manifest-sha256.txt", "tagmanifest-sha256.txt")
_DIFF_LINES = 40


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A home in which the shipped drops were run, one ticket approved and published."""
    return run_shipped(tmp_path_factory.mktemp("examples") / "home")


def committed(folder: Path) -> set[str]:
    """Files below a folder, dossiers aside."""
    files = {path for path in folder.rglob("*") if path.is_file()}
    return {
        path.relative_to(FOLDER).as_posix()
        for path in files
        if not any(dossier in path.parents for dossier in DOSSIERS)
    }


def difference(name: str, new: bytes) -> str:
    """What differs from the committed file, "" when nothing does."""
    path = FOLDER / name
    old = path.read_bytes() if path.is_file() else b""
    if old == new:
        return ""
    before, after = (text.decode("utf-8", "replace").splitlines() for text in (old, new))
    told = difflib.unified_diff(before, after, f"committed/{name}", f"made now/{name}", "", "", 1)
    lines = [line[:300] for line in told][:_DIFF_LINES] or [f"{name}: line ends differ"]
    return "\n".join(lines)


def test_what_the_shipped_drops_give_is_what_lies_here(shipped: Settings) -> None:
    files = example_files(shipped, FOLDER)
    there = committed(FOLDER / SHIPPED) | committed(FOLDER / AUDIT) | {"README.md"}
    told = [difference(name, text.encode()) for name, text in files.items()]
    told += [f"{name} is no longer made" for name in sorted(there - set(files))]
    wrong = [one for one in told if one]
    assert not wrong, "\n".join([AGAIN, *wrong])


def test_dossiers_of_the_shipped_drops_are_built_the_same(shipped: Settings) -> None:
    built = dossier_folders(shipped)
    assert {f"{SHIPPED}/{name}" for name in built} == {
        path.relative_to(FOLDER).as_posix() for path in DOSSIERS if path.is_relative_to(FOLDER / SHIPPED)
    }, AGAIN  # fmt: skip
    wrong = []
    for place, folder in built.items():
        names = {
            path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
        }
        kept = FOLDER / SHIPPED / place
        assert names == {
            path.relative_to(kept).as_posix() for path in kept.rglob("*") if path.is_file()
        }, AGAIN
        for name in sorted(names - set(BY_VERSION)):
            told = difference(f"{SHIPPED}/{place}/{name}", (folder / name).read_bytes())
            wrong += [told] if told else []
    assert not wrong, "\n".join([AGAIN, *wrong])


@pytest.mark.parametrize("sql", sorted((FOLDER / AUDIT).glob("*.sql")), ids=lambda path: path.stem)
def test_plain_duckdb_gives_the_same_answer(shipped: Settings, sql: Path, tmp_path: Path) -> None:
    out = tmp_path / "answer.csv"
    with duckdb.connect(str(shipped.audit), read_only=True) as con:
        con.execute("set timezone = 'UTC'")
        con.sql(sql.read_text(encoding="utf-8")).write_csv(str(out), header=True)
    assert out.read_bytes() == sql.with_suffix(".csv").read_bytes(), AGAIN


def test_no_page_says_that_something_was_missed_or_invented() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("|")]
    judged = [row.rsplit("|", 2)[1].strip() for row in rows]
    assert sum("found exactly" in one for one in judged) == 2
    assert [one for one in judged if re.search("missed|invented|inexact|wrong|not all", one)] == []


def test_every_drop_is_told_and_every_link_leads_somewhere(shipped: Settings) -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [name for name in drops_of(shipped) if f"**{name}**" not in text] == []
    assert {path.name for path in (ROOT / "data" / "drops").iterdir()} == set(drops_of(shipped))
    for page in (FOLDER / "README.md", FOLDER / AUDIT / "README.md"):
        targets = targets_of(page.read_text(encoding="utf-8"))
        assert len(targets) > 20
        assert [one for one in targets if not (page.parent / one).exists()] == []


@pytest.mark.parametrize("dossier", DOSSIERS, ids=lambda folder: folder.parent.parent.name)
def test_a_dossier_is_whole_and_the_ticket_beside_it_is_its_own(dossier: Path) -> None:
    problems, files = check_bag(dossier)
    assert problems == []
    assert files > 20
    data = dossier / "data"
    kept = json.loads((data / "ticket.json").read_bytes())
    beside, ticket_id = dossier.parent, kept["draft"]["ticket_id"]
    if dossier.is_relative_to(FOLDER / OTHERS):
        ticket, text, sheet = (beside / f"{n}" for n in ("ticket.json", "ticket.txt", "sheet.html"))
    else:
        ticket, text = (
            beside.parent / "tickets" / f"{ticket_id}{end}" for end in (".json", ".txt")
        )
        sheet = beside.parent / "sheets" / f"{ticket_id}.html"
    draft = TicketDraft.model_validate_json(ticket.read_bytes())
    assert draft.sha256 == kept["draft_sha256"]
    assert draft.drafter == "rules"
    assert draft.ticket_id in text.read_text(encoding="utf-8")
    assert sheet.read_bytes() == (data / "ticket_sheet.html").read_bytes()
    is_approved = (data / "publications.json").is_file()
    assert ("NOT APPROVED" in sheet.read_text(encoding="utf-8")) is not is_approved


def test_one_ticket_was_published_and_the_outbox_has_the_sheet() -> None:
    (sheet,) = (FOLDER / SHIPPED).rglob("outbox/*/sheet.html")
    drop, ticket_id = sheet.parents[2], sheet.parent.name
    assert sheet.read_bytes() == (drop / "sheets" / f"{ticket_id}.html").read_bytes()
    assert len(list((FOLDER / SHIPPED).glob("*/tickets/*.json"))) == 2


def test_the_examples_are_small_and_name_no_place_of_a_machine() -> None:
    files = [path for path in FOLDER.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < MOST_BYTES
    named = re.compile(rb"(?<![\w.])/(?:work|tmp|root|home|Users)/")
    assert [str(path) for path in files if named.search(path.read_bytes())] == []


def test_other_faults_are_those_that_no_shipped_drop_holds() -> None:
    assert [path.name for path in FAULTS] == ["link-flap", "pcie-replay-storm", "width-downgrade"]
