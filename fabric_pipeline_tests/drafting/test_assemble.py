"""A ticket's facts: every field from record, catalogue and ledger, in words where a thing is not known."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fabric_pipeline.drafting.assemble import Authorship, assemble, basis_sha256, fault_line
from fabric_pipeline.drafting.catalogue import Catalogue
from fabric_pipeline.drafting.history import NO_HISTORY, TicketHistory
from fabric_pipeline.drafting.rules_draft import draft_by_rules, draft_text
from fabric_pipeline.incidents.record import (
    CableFacts,
    IncidentRecord,
    Place,
    ServiceFacts,
    Spare,
)
from fabric_pipeline.incidents.ticket import EarlierRepair, FailedAttempt, TicketDraft
from fabric_pipeline.model.counters import BASES, ERROR_CLASSES
from fabric_pipeline_tests.drafting.incidents import (
    infiniband_incident,
    nvlink_incident,
    pcie_incident,
)

AT = datetime(2026, 3, 20, 10, tzinfo=UTC)
REPAIR = EarlierRepair(
    action="reseat_module", step=3, old_serial="S-1", repaired_at=AT, outcome="came_back"
)
TRIED = TicketHistory(repairs=(REPAIR,), begin_at_step=4)


def ticket_of(
    incident: IncidentRecord, catalogue: Catalogue, history: TicketHistory = NO_HISTORY
) -> TicketDraft:
    return draft_by_rules(incident, catalogue, history=history)


def full_infiniband(**changes: Any) -> IncidentRecord:
    near = Place(
        node="trn-b02-n11", site="LUX2", hall="H1", cage="C4", row="B", rack="B02", unit="9",
        face="front", node_serial="SN9", asset_tag="A-77", socket=0, gpu=4, port_label="OSFP2P2",
        pci="0000:9a:00.0", nic_serial="MT1", slot="network module 1",
    )  # fmt: skip
    far = Place(site="LUX2", row="B", rack="B09", unit="30", node_serial="MT7", slot="2", port_label="1/10/1")  # fmt: skip
    facts: dict[str, Any] = {
        "place": near,
        "far_place": far,
        "cable": CableFacts(
            medium="MMF", length_m=20.0, connector="MPO-12/APC", colour="aqua", serial="FB1"
        ),
        "service": ServiceFacts(
            contact="dc-operations desk",
            schedule="any day",
            customer_reference="REF-1",
            sla="8 hours",
        ),
        "spares": [
            Spare(part="MMA4Z00-NS", location="store 1, drawer D3", quantity=6),
            Spare(part="mpo-fibre", location="store 2", fits="MMA4Z00-NS"),
            Spare(part="something-else", location="store 3", fits="MMA4Z00-NS"),
        ],
    }
    return infiniband_incident(**{**facts, **changes})


def test_every_place_and_cable_fact_stands_in_its_field(catalogue: Catalogue) -> None:
    ticket = ticket_of(full_infiniband(), catalogue)
    where = ("site", "hall", "cage", "row", "rack", "unit", "face", "node_serial", "asset_tag")
    assert [getattr(ticket, name) for name in where] == [
        "LUX2", "H1", "C4", "B", "B02", "9", "front", "SN9", "A-77"
    ]  # fmt: skip
    assert (ticket.gpu_index, ticket.socket, ticket.pci_address) == (4, 0, "0000:9a:00.0")
    assert ticket.port_label == "OSFP2P2"
    assert ticket.far_end == "leaf-6/port-19"
    assert ticket.far_place.model_dump() == {
        "device": "leaf-6", "slot": "2", "port": "port-19", "port_label": "1/10/1", "site": "LUX2",
        "row": "B", "rack": "B09", "unit": "30", "serial": "MT7",
    }  # fmt: skip
    assert ticket.cable.length_m == 20.0
    assert (ticket.cable.medium, ticket.cable.colour, ticket.cable.serial) == ("MMF", "aqua", "FB1")
    assert (ticket.sla, ticket.contact, ticket.schedule) == ("8 hours", "dc-operations desk", "any day")  # fmt: skip
    assert ticket.customer_reference == "REF-1"


def test_the_way_and_the_other_end_are_in_the_first_step(catalogue: Catalogue) -> None:
    do = ticket_of(full_infiniband(), catalogue).text.repair_steps[0].do
    assert do.startswith(
        "Go to site LUX2, hall H1, cage C4, row B, rack B02, unit 9, at the front and find node"
    )
    assert "The other end is leaf-6/port-19, printed 1/10/1, in row B, rack B09, unit 30." in do
    assert "asset tag is A-77" in do


def test_parts_carry_number_source_quantity_and_the_place_of_their_spares(
    catalogue: Catalogue,
) -> None:
    parts = ticket_of(full_infiniband(), catalogue).parts
    assert [(part.part_number, part.quantity, part.spare_location) for part in parts] == [
        ("MMA4Z00-NS", 2, "store 1, drawer D3 (6 in stock)"),
        ("", 1, "store 2"),
        ("", 1, ""),
    ]
    assert parts[0].name == "OSFP transceiver: twin-port, 2 x 400 Gb/s, multimode, 50 m"
    assert parts[0].source.startswith("https://docs.nvidia.com/")
    steps = ticket_of(full_infiniband(), catalogue).text.repair_steps
    assert any(step.do.endswith("Spare: store 1, drawer D3.") for step in steps)


def test_rules_evidence_and_times_are_carried(catalogue: Catalogue) -> None:
    incident = nvlink_incident()
    ticket = ticket_of(incident, catalogue)
    assert ticket.rules_fired == ["nvlink_crc_rate: CRC rate: 70.7 a minute, limit 1 a minute"]
    assert (ticket.first_seen, ticket.last_seen) == (incident.first_seen, incident.last_seen)
    assert [(one.evidence_id, one.file, one.line, one.last_line) for one in ticket.evidence] == [
        ("E1", "counters.csv", 812, 1255), ("E2", "collectives.csv", 90, None)
    ]  # fmt: skip
    assert ticket.evidence[0].sha256 == "0" * 64
    assert ticket.drain_scope == "node"


def test_many_rules_are_counted_and_not_dropped_in_silence(catalogue: Catalogue) -> None:
    rules = nvlink_incident().rules * 15
    fired = ticket_of(nvlink_incident(rules=rules), catalogue).rules_fired
    assert len(fired) == 12
    assert fired[-1] == "4 more rules stand in the incident record"


NO_EFFECT: dict[str, Any] = {
    "affected_runs": [],
    "affected_ranks": [],
    "degradation_pct": None,
    "gpu_hours_lost": None,
}
SLOWER = "collective or step time 61.3 % above the baseline"
LOST = "lost in the recorded collectives"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {},
            f"Slowed runs: run-442; late ranks: 30, 31; {SLOWER}; at least 212.8 GPU-hours {LOST}.",
        ),
        (
            {"gpu_hours_lost": 0.0003, "affected_ranks": []},
            f"Slowed runs: run-442; {SLOWER}; less than a GPU-minute {LOST}.",
        ),
        (
            NO_EFFECT | {"affected_runs": [f"r{n}" for n in range(9)]},
            "Slowed runs: r0, r1, r2, r3, r4, r5 and 3 more.",
        ),
        (NO_EFFECT, "None known: no slowed collective crosses this link in this drop."),
    ],
)
def test_job_impact_is_stated_or_said_to_be_unknown(
    changes: dict[str, Any], said: str, catalogue: Catalogue
) -> None:
    assert ticket_of(nvlink_incident(**changes), catalogue).job_impact == said


CABLE_END_UNKNOWN = infiniband_incident(far_end="", fabric_or_switch_port="", place=Place(node="n"))
BRIDGED = nvlink_incident(far_end="trn-b07-n03:gpu1/nvlink-2", fabric_or_switch_port="")
SWITCH_END = infiniband_incident(
    isolated_component="unknown:leaf-6/port-19", far_end="", place=Place()
)


@pytest.mark.parametrize(
    ("incident", "port", "gpu"),
    [
        (
            CABLE_END_UNKNOWN,
            "not known: no topology names the far end; follow the cable",
            "GPU not known: no topology says which GPU stands beside mlx5_4",
        ),
        (
            pcie_incident(),
            "not known: no topology names the far end of this link; it lies inside the machine",
            "",
        ),
        (
            BRIDGED,
            "none: the link ends on trn-b07-n03:gpu1/nvlink-2, which is no switch port",
            "SXM7",
        ),
        (SWITCH_END, "leaf-6/port-19", "none: leaf-6 is a switch"),
    ],
)
def test_port_and_gpu_say_in_words_what_is_not_known(
    incident: IncidentRecord, port: str, gpu: str, catalogue: Catalogue
) -> None:
    ticket = ticket_of(incident, catalogue)
    assert ticket.fabric_or_switch_port == port
    assert ticket.gpu_slot == gpu
    assert ticket.replacement_part


def test_a_port_label_is_never_derived_from_the_device_name(catalogue: Catalogue) -> None:
    bare = infiniband_incident(place=Place(node="trn-b02-n11"))
    assert ticket_of(bare, catalogue).port_label == ""


def test_the_return_form_is_prefilled(catalogue: Catalogue) -> None:
    form = {one.item: one for one in ticket_of(nvlink_incident(), catalogue, TRIED).rma}
    assert form["GPU serial"].value == "1654822003117"
    assert form["Serial of the system"].value == "SN77K04512"
    assert form["First seen"].value == "2026-03-14 02:17 UTC"
    assert form["Evidence files, lines and hashes"].value == (
        "counters.csv (sha256 0000000000000000) lines: E1 812-1255; "
        "collectives.csv (sha256 1111111111111111) lines: E2 90"
    )
    assert form["What was tried before, with serials"].value == (
        "reseat_module on 2026-03-20 10:00 UTC, old serial S-1: fault came back"
    )
    assert form["Limits that were passed, with their sources"].value == (
        "nvlink_crc_rate: 70.7 a minute, limit 1 a minute"
    )
    assert form["GPU part number"].state == "to_ask"
    assert form["Log of the vendor's field diagnostic on this GPU"].state == "to_attach"


def test_the_serial_of_the_far_switch_is_no_serial_of_the_node(catalogue: Catalogue) -> None:
    form = {one.item: one.value for one in ticket_of(full_infiniband(), catalogue).rma}
    assert form["Serial of the switch"] == "MT7"
    assert form["Serial of the adapter"] == "MT1"
    assert form["Part number"] == "MMA4Z00-NS"


def test_the_authors_accounts_are_kept(catalogue: Catalogue) -> None:
    incident = nvlink_incident()
    entry = catalogue.entry_for(incident)
    failed = FailedAttempt(problems=["title: empty"], answer="{}")
    by = Authorship(
        drafter="claude", model="m", effort="high", requests=2, cache_read_tokens=3,
        cache_write_tokens=4, failed_attempts=(failed,),
    )  # fmt: skip
    ticket = assemble(incident, entry, draft_text(incident, entry), by, history=TRIED)
    assert (ticket.effort, ticket.requests) == ("high", 2)
    assert (ticket.cache_read_tokens, ticket.cache_write_tokens) == (3, 4)
    assert ticket.failed_attempts == [failed]
    assert ticket.earlier_repairs == [REPAIR]
    assert ticket.begin_at_step == 4


def test_the_basis_changes_with_evidence_entry_and_history(catalogue: Catalogue) -> None:
    incident = nvlink_incident()
    entry = catalogue.entry_for(incident)
    later = TicketHistory(
        repairs=(REPAIR.model_copy(update={"repaired_at": AT + timedelta(days=1)}),),
        begin_at_step=4,
    )
    other_entry = entry.model_copy(update={"drain": "All of {node}, at night."})
    bases = [
        basis_sha256(incident, entry, NO_HISTORY),
        basis_sha256(nvlink_incident(evidence_sha256="b" * 64), entry, NO_HISTORY),
        basis_sha256(incident, other_entry, NO_HISTORY),
        basis_sha256(incident, entry, TRIED),
        basis_sha256(incident, entry, later),
    ]
    assert len(set(bases)) == len(bases)
    assert ticket_of(incident, catalogue).basis_sha256 == bases[0]
    assert bases[0] == basis_sha256(nvlink_incident(), entry, TicketHistory())


def test_a_long_list_of_evidence_says_that_the_dossier_has_all(catalogue: Catalogue) -> None:
    many = nvlink_incident().evidence * 40
    form = {one.item: one.value for one in ticket_of(nvlink_incident(evidence=many), catalogue).rma}
    assert form["Evidence files, lines and hashes"].endswith("… The dossier lists all.")


@pytest.mark.parametrize(
    ("error_class", "basis", "words"),
    [
        (
            "corrected_multi",
            "reported",
            "corrected errors of several bits (as the source states it)",
        ),
        (
            "detected_retransmitted",
            "proxy",
            "errors detected and sent again (the counter does not say how many bits)",
        ),
        ("uncorrected", "measured", "errors past correction (measured)"),
        ("link_down", "", "link down"),
    ],
)
def test_the_line_of_the_fault_says_in_words_what_its_errors_are(
    error_class: str, basis: str, words: str
) -> None:
    incident = nvlink_incident(error_class=error_class, class_basis=basis)
    assert fault_line(incident) == f"physical link degradation, CRITICAL, {words}"


def test_every_error_class_has_words_of_its_own() -> None:
    for error_class in ERROR_CLASSES:
        for basis in BASES:
            line = fault_line(nvlink_incident(error_class=error_class, class_basis=basis))
            assert "_" not in line
            assert "proxy" not in line
