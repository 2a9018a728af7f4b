"""Tampering with a dossier that holds its whole drop and a ticket: any byte, and careful forgers."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from fabric_pipeline.incidents.build import evidence_hash
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.incidents.ticket import RmaItem, TicketDraft
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.store.duck import session
from fabric_pipeline.store.ledger_repairs import RepairReport
from fabric_pipeline.workflows import dossier_check
from fabric_pipeline.workflows.dossier_build import build_dossier
from fabric_pipeline.workflows.dossier_chain import head_problems, row_payload
from fabric_pipeline.workflows.dossier_check import check_dossier
from fabric_pipeline.workflows.dossier_excerpts import excerpt_name
from fabric_pipeline.workflows.dossier_ledger import LedgerFacts, Link, facts_in
from fabric_pipeline.workflows.dossier_rows import load_csv
from fabric_pipeline.workflows.dossier_ticket import ticket_texts
from fabric_pipeline_tests.store.fakes import draft
from fabric_pipeline_tests.workflows.dossier_drops import START, World, make_world, rehash


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A drop with a ticket that was edited, approved and published, and a reported repair."""
    world = make_world(tmp_path_factory.mktemp("world"))
    record, ledger = world.accused, world.ledger
    first = ticket(record)
    other = draft("TKT-00000000000b", incident_id="INC-00000000000b", drop="elsewhere")
    ledger.record_draft(first, START + timedelta(minutes=1))
    ledger.record_draft(other, START + timedelta(minutes=2))
    text = first.text.model_copy(update={"rollback": "put the first cable back"})
    edited = first.model_copy(update={"text": text, "edited_by": "technician-2"})
    at = START + timedelta(minutes=3)
    ledger.record_edit(
        first.ticket_id, first.sha256, edited, "technician-2", "clearer", "-a +b", at
    )
    review = ledger.add_review(first.ticket_id, edited.sha256, "approved", "reviewer-1", "", at)
    ledger.record_publication(
        first.ticket_id, edited.sha256, review.seq, "reviewer-1", at, f"{first.ticket_id}/sheet"
    )
    ledger.record_repair(
        RepairReport(
            incident_id=record.incident_id,
            ticket_id=first.ticket_id,
            component=record.isolated_component,
            action="reseat_cable",
            step=1,
            part="",
            old_serial="",
            new_serial="",
            repaired_by="technician-2",
            repaired_at=at,
        ),
        at,
    )
    return world


def ticket(record: IncidentRecord) -> TicketDraft:
    rma = [
        RmaItem(item="Serial number", value="SN-17", state="filled"),
        RmaItem(item="Field diagnostic log", state="to_attach"),
        RmaItem(item="Shipping address", state="to_ask"),
    ]
    return draft(
        drop=record.drop,
        incident_id=record.incident_id,
        node="calc-01",
        evidence_sha256=record.evidence_sha256,
        rma=rma,
    )


@pytest.fixture(scope="module")
def built(world: World) -> Path:
    return build_dossier(world.settings, world.ledger, world.accused, START, run_id="run-1").path


@pytest.fixture
def bag(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "bag"))


def test_an_untouched_dossier_is_the_same_incident_with_everything_run_again(built: Path) -> None:
    check = check_dossier(built)
    assert (check.problems, check.not_rerun) == ([], [])
    assert check.verdict == "same incident, everything run again"
    assert "the whole diagnosis of the drop" in check.rerun
    assert any("shown lines read again" in text for text in check.rerun)


def test_the_ticket_is_there_as_it_was_approved(built: Path) -> None:
    data = built / "data"
    ticket = json.loads((data / "ticket.json").read_text())
    assert (ticket["revision"], ticket["is_newest"], ticket["is_retired"]) == (2, True, False)
    assert ticket["draft"]["text"]["rollback"] == "put the first cable back"
    sheet = (data / "ticket_sheet.html").read_text()
    assert "Reseat the cable" in sheet
    assert "reviewer-1" in sheet
    assert json.loads((data / "edits.json").read_text())[0]["editor"] == "technician-2"
    assert json.loads((data / "repairs.json").read_text())[0]["action"] == "reseat_cable"
    assert json.loads((data / "publications.json").read_text())[0]["review_seq"] == 1
    request = json.loads((data / "vendor" / "rma_request.json").read_text())
    assert request["filled"] == {"Serial number": "SN-17"}
    assert request["to_attach"][1:] == ["Field diagnostic log"]
    assert request["to_ask"] == ["Shipping address"]
    assert request["repairs_done"][0]["action"] == "reseat_cable"


def test_every_byte_counts(bag: Path) -> None:
    files = sorted(path for path in bag.rglob("*") if path.is_file())
    assert len(files) > 40
    for path in files:
        content = path.read_bytes()
        for place in {0, len(content) // 2, len(content) - 1}:
            spoilt = bytearray(content)
            spoilt[place] ^= 1
            path.write_bytes(bytes(spoilt))
            assert check_dossier(bag).problems, (path, place)
        path.write_bytes(content)
    assert check_dossier(bag).problems == []


DROPPED = "publication 1: no review here approved exactly this draft"


def forge_json(bag: Path, name: str, change: Callable[[Any], object]) -> None:
    path = bag / "data" / name
    facts = json.loads(path.read_text(encoding="utf-8"))
    change(facts)
    path.write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def forge_text(bag: Path, name: str, old: str, new: str) -> None:
    text = (bag / "data" / name).read_text(encoding="utf-8")
    assert old in text
    (bag / "data" / name).write_text(text.replace(old, new, 1), encoding="utf-8", newline="")


def forge_drop_row(bag: Path) -> None:
    path = bag / "data" / "drop" / "raw_telemetry.parquet"
    with closing(session()) as con:
        con.execute(f"create temp table t as from read_parquet('{path}')")
        con.execute(
            "update t set value = value * 2, value_text = (value * 2)::bigint::varchar "
            "where counter = 'crc_multi_bit' and interface = 'gpu1/nvlink-2' and node = 'calc-01'"
        )
        con.execute(f"copy t to '{path}' (format parquet)")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    forge_json(
        bag, "lineage.json", lambda f: f["tables"]["raw_telemetry"].update({"sha256": digest})
    )


def forge_kept_row(bag: Path) -> None:
    rows = bag / "data" / "rows"
    with closing(session()) as con:
        load_csv(con, rows / "link_counters.csv", TABLES["link_counters"], "forged")
        con.execute("update forged set delta = delta * 3 where counter = 'crc_multi_bit'")
        for end in ("csv", "parquet"):
            con.execute(f"copy forged to '{rows}/link_counters.{end}' (format {end})")


def forge_figure(bag: Path) -> None:
    path = bag / "data" / "incident.json"
    record = IncidentRecord.model_validate_json(path.read_bytes())
    record = record.model_copy(update={"confidence": 0.12, "degradation_pct": 1.5})
    record = record.model_copy(update={"evidence_sha256": evidence_hash(record)})
    text = json.dumps(record.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8")


def forge_review_file(bag: Path) -> None:
    forge_text(bag, "reviews.json", "reviewer-1", "reviewer-9")


def forge_review_row(bag: Path) -> None:
    forge_json(bag, "ledger.json", lambda f: f["rows"]["review"][0].update({"reviewer": "x"}))
    again(bag)


def forge_ticket_row(bag: Path) -> None:
    row = facts_in(bag / "data").rows["draft"][-1]
    body = row["json"].replace("Reseat the cable", "Do nothing at all")
    assert body != row["json"]
    forge_json(bag, "ledger.json", lambda f: f["rows"]["draft"][-1].update({"json": body}))
    again(bag)


def drop_review(bag: Path) -> None:
    forge_json(bag, "ledger.json", lambda f: f["rows"]["review"].clear())
    again(bag)


def again(bag: Path) -> None:
    """The files about the ticket, made anew from the forged rows."""
    for name, text in ticket_texts(facts_in(bag / "data")).items():
        (bag / "data" / name).write_text(text, encoding="utf-8")


def forge_line(bag: Path) -> None:
    forge_text(bag, f"excerpts/{excerpt_name('counters.csv')}", ",1350,", ",1340,")


def forge_line_time(bag: Path) -> None:
    name = f"excerpts/{excerpt_name('counters.csv')}"
    forge_text(bag, name, "2031-03-04T06:10:00", "2031-03-04T06:10:09")


def forge_head_of_excerpt(bag: Path) -> None:
    forge_text(
        bag, f"excerpts/{excerpt_name('counters.csv')}", "state: unchanged", "state: no_hash"
    )


def add_file(bag: Path) -> None:
    (bag / "data" / "approval.txt").write_text("approved")


def add_excerpt(bag: Path) -> None:
    (bag / "data" / "excerpts" / "more.txt").write_text("# state: unchanged\n1\tx\n")


def forge_limit(bag: Path) -> None:
    forge_json(
        bag, "versions.json", lambda f: f["limits"]["SpikeLimits"].update({"replay_per_hour": 1})
    )


def lambda_text(name: str, old: str, new: str) -> Callable[[Path], None]:
    return lambda bag: forge_text(bag, name, old, new)


def lambda_json(name: str, change: Callable[[Any], object]) -> Callable[[Path], None]:
    return lambda bag: forge_json(bag, name, change)


Forgery = tuple[Callable[[Path], object], str]
ROWS: list[Forgery] = [
    (forge_drop_row, "the whole diagnosis of the drop: "),
    (forge_kept_row, "rows/link_counters: "),
    (forge_line, "read again give the recorded rows: "),
]
RECORD: list[Forgery] = [
    (forge_figure, "confidence is 0.12 in the incident"),
    (forge_figure, "degradation_pct is 1.5 in the incident"),
    (forge_line_time, "read again give the recorded rows"),
    (lambda_json("lineage.json", lambda f: f["scope"]["nodes"].pop()), "another scope"),
    (lambda_json("lineage.json", lambda f: f.update({"not_whole": "x"})), "say rightly"),
    (lambda_json("drop/drop.json", lambda f: f["runs"].clear()), "drop.json: is not written"),
    (lambda_json("drop/drop.json", lambda f: f["runs"].clear()), "the nodes of run"),
]
TEXTS: list[Forgery] = [
    (forge_review_file, "reviews.json: is not what the other files of the dossier give"),
    (lambda_text("ticket.json", "Reseat", "Leave"), "ticket.json: is not what"),
    (lambda_text("figure.svg", "<rect", "<rect "), "figure.svg: is not what"),
    (lambda_text("figures.csv", ",", ",1"), "figures.csv: is not what"),
    (lambda_text("README.txt", "CRITICAL", "INFO"), "README.txt: is not what"),
    (lambda_text("queries.sql", "limit", "-- limit"), "queries.sql: is not what"),
    (lambda_text("vendor/rma_request.txt", "SN-17", "SN-18"), "rma_request.txt: is not what"),
    (lambda_text("ticket_sheet.html", "Reseat", "Leave"), "ticket_sheet.html: is not what"),
    (lambda_text("edits.json", "clearer", "darker"), "edits.json: is not what"),
    (lambda_text("repairs.json", "reseat", "replace"), "repairs.json: is not what"),
    (lambda_text("chain.csv", "review", "repair"), "its hash does not follow"),
    (forge_head_of_excerpt, "its head or form is not the one"),
    (add_file, "approval.txt: no part of a dossier has this name"),
    (add_excerpt, "more.txt: is of no file that the incident cites"),
    (forge_limit, "states other limits than this version has"),
]
LEDGER: list[Forgery] = [
    (forge_review_row, "review 1: is not the row that was chained"),
    (forge_ticket_row, "draft 3: is not the row that was chained"),
    (forge_ticket_row, "its text does not have its hash"),
    (lambda_json("ledger.json", lambda f: f.update({"chain_head": "0" * 64})), "does not end in"),
]


@pytest.mark.parametrize(
    "forgeries", [[one] for one in ROWS] + [RECORD, TEXTS, LEDGER, [(drop_review, DROPPED)]]
)
def test_a_forger_who_makes_all_manifests_anew_is_found(
    bag: Path, forgeries: list[Forgery]
) -> None:
    for forge in dict.fromkeys(forge for forge, _ in forgeries):
        forge(bag)
    rehash(bag)
    problems = check_dossier(bag).problems
    for _, says in forgeries:
        assert any(says in problem for problem in problems), (says, problems)


def test_a_chain_made_anew_is_found_by_a_head_known_outside_alone(bag: Path, world: World) -> None:
    """Whoever may write all files can write a consistent lie; then the head (or a signature) tells."""
    known = facts_in(bag / "data")
    forge_review_row(bag)
    forge_json(bag, "ledger.json", lambda f: f["rows"]["publication"][0].update({"reviewer": "x"}))
    forged = chained_anew(facts_in(bag / "data"))
    for name, text in (forged.texts() | ticket_texts(forged)).items():
        (bag / "data" / name).write_text(text, encoding="utf-8")
    assert head_problems(known, known.head) == (
        [],
        "the known head is the head of this dossier: all rows of the ledger are proven",
    )
    (problem,) = head_problems(forged, known.head)[0]
    assert problem.startswith("the chain of this dossier does not contain the known head")
    older = known.links[0].hash
    assert head_problems(known, older)[1].startswith("the known head is in the chain; ")
    assert world.ledger.verify_chain([link.hash for link in known.links]) == []
    assert world.ledger.verify_chain([forged.head])


def chained_anew(facts: LedgerFacts) -> LedgerFacts:
    rows = {(kind, row["seq"]): row for kind, found in facts.rows.items() for row in found}
    links: list[Link] = []
    for link in facts.links:
        row = rows.get((link.kind, link.row_seq))
        payload = row_payload(row) if row else link.payload_sha256
        prev = links[-1].hash if links else link.prev_hash
        text = f"{link.seq}\n{link.kind}\n{link.row_seq}\n{payload}\n{prev}"
        digest = hashlib.sha256(text.encode()).hexdigest()
        links.append(Link(link.seq, link.kind, link.row_seq, payload, prev, digest))
    return LedgerFacts(
        facts.drop, facts.incident_id, links[-1].hash, facts.observed_at, True, facts.rows, links
    )


@pytest.mark.parametrize("kind", ["draft", "review", "publication"])
def test_a_row_without_its_columns_is_a_problem_not_a_crash(bag: Path, kind: str) -> None:
    at = START.isoformat()
    forge_json(bag, "ledger.json", lambda f: f["rows"][kind].append({"at": at}))
    rehash(bag)
    assert any("cannot be judged again (KeyError" in text for text in check_dossier(bag).problems)


def test_another_version_says_which_files_it_words_otherwise(
    bag: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An upgrade must not make old dossiers look forged: the facts are still compared in full."""
    monkeypatch.setattr(dossier_check, "__version__", "99.0")
    forge_text(bag, "README.txt", "WHAT THIS IS", "WHAT THIS WAS")
    rehash(bag)
    check = check_dossier(bag)
    assert check.problems == []
    assert check.not_rerun[-1].startswith("README.txt: written by version ")
    forge_figure(bag)
    rehash(bag)
    assert any("confidence is 0.12" in problem for problem in check_dossier(bag).problems)
