"""Tickets by rules read the way a technician does: right part, right machine, one numbering, one claim an event."""

from __future__ import annotations

from typing import Any

import pytest

from fabric_pipeline.drafting.catalogue import Catalogue
from fabric_pipeline.drafting.forbidden import forbidden
from fabric_pipeline.drafting.rules_draft import draft_by_rules
from fabric_pipeline.drafting.verify import problems
from fabric_pipeline.incidents.record import Evidence, IncidentRecord, Place
from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline_tests.drafting.incidents import infiniband_incident, pcie_incident


def adapter_incident(**changes: Any) -> IncidentRecord:
    """The PCIe link of an adapter that stands beside GPU 4."""
    place = Place(node="n1", rack="R1", unit="3", gpu=4, slot="PCIe slot 7", nic_serial="MT1")
    fields: dict[str, Any] = {
        "isolated_component": "n1:mlx5_6/pcie",
        "far_end": "n1:pcie-switch-4/port-2",
        "place": place,
        "summary": "The PCIe link mlx5_6/pcie runs at x8 and ran at x16 before that.",
    }
    return pcie_incident(**{**fields, **changes})


def lost_gpu(**changes: Any) -> IncidentRecord:
    fields = {
        "isolated_component": "n1:gpu5",
        "place": Place(node="n1", rack="R1", unit="3", gpu=5, gpu_slot="SXM6", gpu_serial="S5"),
        "fault_type": "link_down",
        "summary": "Xid 79: the GPU at gpu5 has fallen off the bus once.",
    }
    return pcie_incident(**{**fields, **changes})


def shared_leaf(**changes: Any) -> IncidentRecord:
    failing = [f"leaf-2/port-{n} to n{n}:mlx5_4/1" for n in (1, 2, 3)]
    fields: dict[str, Any] = {
        "isolated_component": "unknown:leaf-2",
        "far_end": "",
        "fabric_or_switch_port": "",
        "place": Place(rack="R9", unit="14", node_serial="MT9"),
        "fault_type": "shared_component",
        "link_type": "",
        "part_reference": "",
        "cable_id": "",
        "summary": "3 ports of leaf-2 went down within 5 s: one common cause.",
        "numbers": {"failing_links": failing, "links_of_the_part": 7},
    }
    return infiniband_incident(**{**fields, **changes})


def draft(incident: IncidentRecord, catalogue: Catalogue) -> TicketDraft:
    """A draft by rules that would pass the checks of any draft, and what a person may edit further."""
    ticket = draft_by_rules(incident, catalogue)
    assert problems(ticket.text, incident, catalogue) == []
    assert forbidden(ticket.text.summary) == ()
    return ticket


def everything(ticket: TicketDraft) -> str:
    steps = [f"{step.do} {step.proves}" for step in ticket.text.repair_steps]
    return " ".join(
        [ticket.text.title, ticket.text.summary, *steps, *(p.name for p in ticket.parts)]
    )


@pytest.mark.parametrize(
    ("near", "far"),
    [
        ("n1:mlx5_6/pcie", "n1:pcie-switch-4/port-2"),
        ("n1:pcie-switch-4/port-2", "n1:mlx5_6/pcie"),
    ],
)
def test_the_pcie_link_of_an_adapter_sends_nobody_to_a_gpu(
    near: str, far: str, catalogue: Catalogue
) -> None:
    ticket = draft(adapter_incident(isolated_component=near, far_end=far), catalogue)
    assert "PCIe link of network adapter mlx5_6" in ticket.text.title
    assert "GPU" not in everything(ticket)
    assert any(part.name.startswith("Card: network adapter mlx5_6") for part in ticket.parts)
    assert not [item.item for item in ticket.rma if "GPU" in item.item]


def test_the_gpu_beside_an_adapter_is_called_that(catalogue: Catalogue) -> None:
    ticket = draft(adapter_incident(), catalogue)
    assert (ticket.gpu_index, ticket.gpu_slot) == (4, "beside mlx5_6, not on this link")
    assert "take network adapter mlx5_6 in PCIe slot 7 out" in ticket.text.repair_steps[2].do


def test_a_gpu_off_the_bus_gets_the_pcie_entry(catalogue: Catalogue) -> None:
    ticket = draft(lost_gpu(), catalogue)
    assert ticket.text.title.startswith("WARNING: link down on PCIe link of GPU 5, node n1")
    assert ticket.replacement_part.startswith("Riser, retimer board or cable")
    assert [part.name for part in ticket.parts][1] == "Card: GPU 5 in slot SXM6"
    assert not [item.item for item in ticket.rma if "adapter" in item.item]


def test_each_step_of_the_order_carries_the_name_it_is_reported_by(catalogue: Catalogue) -> None:
    ticket = draft(infiniband_incident(), catalogue)
    named = [step.do.partition("]")[0] for step in ticket.text.repair_steps if step.do[0] == "["]
    assert named == [f"[{step.action}" for step in ticket.repair_order]


def test_a_shared_switch_is_found_by_its_own_name_and_its_failing_links(
    catalogue: Catalogue,
) -> None:
    ticket = draft(shared_leaf(), catalogue)
    assert ticket.text.title == "WARNING: shared component on switch leaf-2, rack R9, unit 14"
    assert "Failing links (3 of its 7 in the topology): leaf-2/port-1 to n1:mlx5_4/1" in ticket.text.summary  # fmt: skip
    first, second = ticket.text.repair_steps[:2]
    assert first.do.startswith("Go to rack R9, unit 14 and find switch leaf-2. Compare the serial")
    assert "cabling record" not in second.do
    assert ticket.node == "switch leaf-2"
    assert "node of this link" not in everything(ticket)


def flap(number: int, end: str, minute: int) -> Evidence:
    says = (
        f"{end} counted 1 link-down event (link_downed) from 2026-03-14 02:{minute:02}:00 to "
        f"02:{minute:02}:30 UTC"
    )
    return Evidence(evidence_id=f"E{number}", file="c.csv", line=100 + number, says=says)


def test_one_claim_an_end_and_the_accused_end_first(catalogue: Catalogue) -> None:
    far = [flap(n, "leaf-6/port-19", 10 + n) for n in range(1, 4)]
    near = [flap(n, "trn-b02-n11:mlx5_4/1", 7 + n) for n in range(4, 9)]
    log = [
        Evidence(evidence_id=f"E{n}", file="e.jsonl", line=n, says="ibp7s0: Link down")
        for n in (9, 10)
    ]
    ticket = draft(infiniband_incident(evidence=[*far, *near, *log]), catalogue)
    stated = [(one.claim, one.evidence_ids) for one in ticket.text.evidence_statements]
    assert stated == [
        (
            (
                "trn-b02-n11:mlx5_4/1 went down 5 times from 2026-03-14 02:11:00 to 02:15:30 UTC "
                "(c.csv, lines 104, 105, 106, 107, 108)."
            ),
            ["E4", "E5", "E6", "E7", "E8"],
        ),
        ("ibp7s0: Link down, 2 times (e.jsonl, lines 9, 10).", ["E9", "E10"]),
        (
            (
                "leaf-6/port-19 went down 3 times from 2026-03-14 02:11:00 to 02:13:30 UTC "
                "(c.csv, lines 101, 102, 103)."
            ),
            ["E1", "E2", "E3"],
        ),
    ]


def test_counts_of_several_intervals_are_not_added_up(catalogue: Catalogue) -> None:
    says = "trn-b02-n11:mlx5_4/1 counted {0} symbol errors past any FEC (symbol_error) from 2026-03-14 02:0{1}:00 to 02:0{1}:30 UTC"
    evidence = [
        Evidence(evidence_id=f"E{n}", file="c.csv", line=n, last_line=n + 40, says=says.format(70 * n, n))
        for n in (1, 2)
    ]  # fmt: skip
    (one,) = draft(infiniband_incident(evidence=evidence), catalogue).text.evidence_statements
    assert one.claim == (
        "trn-b02-n11:mlx5_4/1 counted symbol errors past any FEC in 2 intervals, 70 to 140 in each, from "
        "2026-03-14 02:01:00 to 02:02:30 UTC (c.csv, lines 1, 2)."
    )


def test_the_slowdown_stands_once_in_a_summary_and_is_shared_by_all_links(
    catalogue: Catalogue,
) -> None:
    opening = (
        "mlx5_4/1 of trn-b02-n11 counted 6 link-down events. Collectives of its training run are 867.9 % slower "
        "than their baseline; 3 links are accused over that run, and the share of each is not separable here."
    )
    incident = infiniband_incident(
        summary=opening,
        degradation_pct=867.9,
        affected_runs=["run-7"],
        numbers={"links_accused_over_its_runs": 3, "link_downed": 6},
    )
    ticket = draft(incident, catalogue)
    assert ticket.text.summary.count("867.9 %") == 1
    assert ticket.text.summary.count("not separable") == 1
    assert "3 links are accused over the same runs" in ticket.job_impact
    stated_late = draft(incident.model_copy(update={"summary": "It failed."}), catalogue)
    assert stated_late.text.summary.count("867.9 %") == 1
    assert stated_late.text.summary.count("not separable") == 1


def test_a_known_twin_is_named(catalogue: Catalogue) -> None:
    known = infiniband_incident(numbers={"plug_twin": "trn-b02-n11:mlx5_5/1"})
    for incident, words in (
        (known, "the error counters of trn-b02-n11:mlx5_5/1, the second link of the same plug"),
        (infiniband_incident(), "the second link of the same plug (a twin-port plug carries two)"),
    ):
        assert words in draft(incident, catalogue).text.repair_steps[2].do


def test_values_of_a_return_form_carry_their_own_origin(catalogue: Catalogue) -> None:
    incident = infiniband_incident(place=Place(node="trn-b02-n11", nic_serial="MT5"))
    form = {item.item: item for item in draft(incident, catalogue).rma}
    assert form["Serial of the adapter"].origin == "topology"
    assert form["First seen"].origin == "telemetry"
    assert form["What fails, in one line"].origin == "rule"
    assert form["Part number"].origin == "catalogue"
    assert form["What was tried before, with serials"].origin == "ledger"
    assert form["Number of the support contract"].origin == "catalogue"
