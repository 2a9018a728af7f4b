"""No control character of telemetry or of a person reaches the terminal raw, in any command, piped or not."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.audit import rebuild_audit
from fabric_pipeline.store.ledger import Ledger, RepairReport
from fabric_pipeline.store.quick_names import fabric_names, incident_ids, ticket_ids
from fabric_pipeline_tests.cli.calls import Shell
from fabric_pipeline_tests.store import fakes
from fabric_pipeline_tests.store.fakes import later
from fabric_pipeline_tests.workflows.fabric_lake import Lake, all_ends, incident, spike, topology
from fabric_pipeline_tests.workflows.test_pair_matrix import all_pairs

ATTACK = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\r\x08"
NODES = ("ada-01", f"ada-{ATTACK}02")
# What a terminal obeys, apart from the line break and the colours that rich itself sets.
STEERING = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
IDS = {"incident_id", "ticket_id", "drop", "evidence_sha256", "draft_sha256", "schema_version", "evidence_id", "evidence_ids", "edited_by"}  # fmt: skip


def poisoned(model: BaseModel) -> Any:
    """The model with the attack in every text that may hold any text."""
    kind, values = type(model), model.model_dump(mode="json")
    for path in list(_texts(values)):
        place: Any = values
        for key in path[:-1]:
            place = place[key]
        usual = place[path[-1]]
        place[path[-1]] = usual + ATTACK
        try:
            kind.model_validate(values)
        except ValidationError:  # a word of a fixed list, a time or an id
            place[path[-1]] = usual
    return kind.model_validate(values)


def _texts(value: Any, path: tuple[Any, ...] = ()) -> Any:
    if isinstance(value, str) and not IDS & set(path):
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()  # fmt: skip
    for key, inner in items:
        yield from _texts(inner, (*path, key))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    home = tmp_path_factory.mktemp("hostile")
    for drop in ("d0", "d1"):
        _lake(Lake(home, drop), drop)
    settings = Settings(root=home, home=home / "warehouse")
    ledger = Ledger(settings.ledger)
    ledger.claim_drop("d1", "/drops/d1", "a" * 64, fakes.START)
    ledger.record_incidents("d1", [poisoned(_record(drop="d1"))], fakes.START)
    draft = poisoned(fakes.draft(drafter_note="y", site="s", rack="r", sla="now"))
    ledger.record_draft(draft, later(1))
    ledger.add_review(fakes.TICKET, draft.sha256, "rejected", f"reviewer-1{ATTACK}", f"no{ATTACK}", later(2))  # fmt: skip
    ledger.record_draft(poisoned(fakes.draft("TKT-00000000000b")), later(3))
    ledger.record_repair(_repair(), later(3))
    rebuild_audit(settings)
    return settings


def _record(drop: str) -> Any:
    return fakes.incident(
        drop=drop, isolated_component=f"{NODES[1]}:gpu1/nvlink-4", far_end="f", cable_id="c",
        reasoning=["because"], affected_runs=["run"], link_type="nvlink",
    )  # fmt: skip


def _repair() -> RepairReport:
    return RepairReport(
        incident_id=fakes.INCIDENT, ticket_id=fakes.TICKET, component=f"x{ATTACK}", action=f"reseat{ATTACK}", step=1,
        part=ATTACK, repaired_by=f"technician-2{ATTACK}", repaired_at=later(2), note=ATTACK, old_serial=f"S{ATTACK}",
        new_serial=f"S{ATTACK}",
    )  # fmt: skip


def _lake(lake: Lake, drop: str) -> None:
    part = topology(NODES)
    part.site = ATTACK
    for node in part.nodes:
        node.update(row=ATTACK, rack=f"R{ATTACK}", serial=ATTACK, unit=f"U{drop}{ATTACK}")
        for device in (*node["gpus"], *node["nics"]):
            device.update(slot=ATTACK, serial=f"{drop}{ATTACK}", port_label=ATTACK, uuid=ATTACK)
    for link in part.links:
        link["cable"] = link["part"] = f"{drop}{ATTACK}"
    lake.topology(part).counters(all_ends(part))
    lake.spikes(spike((NODES[1], "gpu1/nvlink-4"), "replay", 4000.0, severity="warning"))
    bad = incident(1, f"{NODES[1]}:gpu1/nvlink-4", "CRITICAL", drop=drop)
    lake.incidents(poisoned(bad))
    rows = all_pairs(slow=("n2", 3))
    lake.write("collective_timings", [[f"n2{ATTACK}" if cell == "n2" else cell for cell in row] for row in rows])  # fmt: skip


COMMANDS = [
    ("topology",), ("topology", "--node", NODES[1]), ("topology", "--rack", f"R{ATTACK}"),
    ("topology", "--link", f"{NODES[1]}:gpu1/nvlink-4", "--all"), ("topology", "--node", f"no{ATTACK}"),
    ("topology", "--rack", f"no{ATTACK}"), ("topology", "--link", f"no{ATTACK}:x"), ("topology", f"no{ATTACK}"),
    ("matrix",), ("matrix", "--kind", "p2p"),
    ("compare", "d0", "d1", "--all"), ("incidents", "--all"), ("incidents", fakes.INCIDENT, "--full", "--ask-again"),
    ("incidents", f"no{ATTACK}"), ("tickets",), ("tickets", fakes.TICKET, "--full"), ("tickets", "history", fakes.TICKET),
    ("tickets", f"no{ATTACK}"), ("find", "ada-"), ("find", f"no{ATTACK}"), ("review",), ("review", fakes.TICKET, "--full"), ("review", f"no{ATTACK}"),
]  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS, ids=map(str, range(len(COMMANDS))))
@pytest.mark.parametrize("is_terminal", [False, True])
def test_only_colours_and_line_breaks_come_out(
    shell: Shell,
    hostile: Settings,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    is_terminal: bool,
) -> None:
    monkeypatch.setenv("FABRIC_HOME", str(hostile.home))
    if is_terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("COLUMNS", "80")
    answer = shell(*words)
    assert "Traceback" not in answer.err
    said = answer.out + answer.err
    assert "owned" in said  # what was hostile is shown, without its power
    assert not STEERING.search(COLOUR.sub("", said) if is_terminal else said)
    assert answer.code == (4 if any(word.startswith("no") for word in words) else 0)


def test_json_is_ascii(shell: Shell, hostile: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABRIC_HOME", str(hostile.home))
    asked = [words for words in COMMANDS if not any(w.startswith("no") for w in words)]
    for words in asked:
        if words == ("incidents", "--all"):
            continue
        kept = [word for word in words if word not in ("--full", "--ask-again")]
        answer = shell(*kept, "--json")
        assert answer.code == 0, (words, answer.err)
        assert answer.out.isascii()
        assert answer.json is not None


def test_nothing_hostile_is_offered_to_a_shell(hostile: Settings) -> None:
    lake = hostile.lake
    assert fabric_names(lake, "d1", "node", "") == ["ada-01"]
    assert fabric_names(lake, "d1", "rack", "") == ["S"]
    links = fabric_names(lake, "d1", "link", "")
    assert links
    assert not any(STEERING.search(name) for name in links)
    assert incident_ids(hostile.ledger) == [(fakes.INCIDENT, "CRITICAL")]
    assert ticket_ids(hostile.ledger)[-1] == (fakes.TICKET, "d1")
