"""Invented tickets that fill the whole model: a typical one, the longest, the shortest, a hostile one.

Beside them five tickets as the pipeline drafted them, read from `example_tickets`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fabric_pipeline.incidents.record import CableFacts
from fabric_pipeline.incidents.ticket import (
    DraftText,
    EarlierRepair,
    EarlierTicket,
    EvidenceReference,
    EvidenceStatement,
    FailedAttempt,
    FarPlace,
    PartChoice,
    RepairOrderStep,
    RepairStep,
    RmaItem,
    TicketDraft,
    TopologyFinding,
)

# What the rules drafter made of five synthetic faults on 2026-11-30, by the name of the fault.
_EXAMPLES = Path(__file__).with_name("example_tickets")
EXAMPLES = tuple(sorted(path.stem for path in _EXAMPLES.glob("*.json")))
SEEN = datetime(2031, 3, 4, 5, 6, tzinfo=UTC)
HOSTILE = (
    'x\n## Approved\n- [ ] run `rm`\x1b[31m \u202egnp.exe <script>alert("1")</script> '
    "'><img src=x onerror=alert(1)> {{ 7*7 }} =1+1 ${jndi}"
)


def example(fault: str) -> TicketDraft:
    """One of the five example tickets."""
    return TicketDraft.model_validate_json((_EXAMPLES / f"{fault}.json").read_text("utf-8"))


def typical(**changes: Any) -> TicketDraft:
    """An InfiniBand link between a node and a leaf switch, with everything a full topology states."""
    fields: dict[str, Any] = {
        "ticket_id": "T-5f0c2a9be1d4",
        "incident_id": "INC-5f0c2a9be1d4",
        "drop": "d1",
        "site": "DC-2",
        "hall": "Hall B",
        "cage": "C4",
        "row": "R07",
        "rack": "R07-12",
        "unit": "U14",
        "face": "rear",
        "node": "gpu-n003",
        "node_serial": "1660224517674",
        "asset_tag": "AT-88213",
        "gpu_index": 5,
        "gpu_slot": "SXM6",
        "socket": 1,
        "pci_address": "0000:c3:00.0",
        "gpu_uuid": "GPU-153e7c2a-26a2-c0bd-3b12-87fff52ddf5d",
        "gpu_serial": "1650756849392",
        "gpu_part_number": "965-2G506-0030",
        "port_label": "OSFP2P2",
        "link": "gpu-n003:mlx5_9/1",
        "lane": 2,
        "far_end": "leaf-su1-05:17/1",
        "far_place": FarPlace(
            device="leaf-su1-05",
            slot="",
            port="17/1",
            port_label="17A",
            site="DC-2",
            row="R07",
            rack="R07-20",
            unit="U40",
            serial="MT2244T01234",
        ),
        "fabric_or_switch_port": "leaf-su1-05:17/1",
        "cable_id": "CBL-00417",
        "cable": CableFacts(
            medium="MMF",
            length_m=15.0,
            connector="MPO-12/APC",
            colour="aqua",
            serial="MT2231VS00417",
            part_number="MFP7E10-N015",
        ),
        "priority": "high",
        "sla": "8 h on site",
        "contact": "fabric desk, ext. 4711",
        "schedule": "weekdays 08:00 to 18:00",
        "customer_reference": "CR-20031",
        "fault": "physical link degradation, CRITICAL, multi bit (measured)",
        "rules_fired": ["ib_symbol_error_rate: 18,412 in 41 min against 120 an hour"],
        "first_seen": SEEN,
        "last_seen": SEEN.replace(hour=6),
        "evidence": [
            EvidenceReference(
                evidence_id="E1", file="counters.csv", sha256="9c1f" * 16, line=2011, last_line=2052
            ),
            EvidenceReference(
                evidence_id="E2", file="nccl.csv", sha256="51aa" * 16, line=88, last_line=121
            ),
        ],
        "replacement_part": "Twin-port OSFP transceiver, both ends as a pair",
        "part_number": "MMA4Z00-NS",
        "parts": [
            PartChoice(
                name="Twin-port OSFP transceiver 2x400 Gb/s",
                part_number="MMA4Z00-NS",
                quantity=2,
                spare_location="Store B, bin 14",
                source="vendor list",
            ),
            PartChoice(
                name="Multimode trunk MPO-12/APC 15 m",
                part_number="MFP7E10-N015",
                spare_location="Store B, bin 22",
            ),
            PartChoice(name="Switch, NDR leaf"),
        ],
        "repair_order": [
            RepairOrderStep(step=1, action="clean_and_reseat"),
            RepairOrderStep(step=2, action="swap_transceivers", part="transceiver"),
            RepairOrderStep(step=3, action="swap_fibre", part="trunk"),
        ],
        "begin_at_step": 2,
        "port_isolation_guidance": "Ask the owner of the fabric manager to take port 17/1 of leaf-su1-05 out of "
        "routing, and begin only with that person's written word.",
        "drain_scope": "node",
        "drain_required": "All of gpu-n003. Ask the owner of the scheduler to take the node out of the job pool and to say when the last job has left.",
        "job_impact": "1 training run of 64 GPUs slowed; at least 12.5 GPU-hours lost.",
        "safety": [
            "Class 1 laser: never look into a fibre or an open cage.",
            "Put dust caps on every end the moment it is out.",
            "Wear the ESD strap on the rack frame.",
        ],
        "tools": ["fibre inspection scope", "MPO cleaner", "ESD strap", "label printer"],
        "test_after_repair": "All-reduce over all 8 GPUs of gpu-n003 for 30 minutes, error counters of both ends read before and after.",
        "pass_criteria": [
            "0 new symbol errors on gpu-n003:mlx5_9/1 and leaf-su1-05:17/1 in 30 minutes under load",
            "Link at 400 Gb/s, 4 lanes, both ends",
            "Median all-reduce latency at most 1,050 µs in the same test",
        ],
        "rma": [
            RmaItem(item="Vendor bug report of the same boot", state="to_attach"),
            RmaItem(item="Serial of the failed part", value="MT2231VS00417", state="filled"),
            RmaItem(item="Result of the field diagnostic", state="to_ask"),
        ],
        "earlier_repairs": [
            EarlierRepair(
                action="clean_and_reseat",
                step=1,
                part="transceiver",
                old_serial="MT2231VS00417",
                repaired_at=SEEN.replace(day=1),
                outcome="came_back",
            ),
        ],
        "earlier_tickets": [
            EarlierTicket(
                ticket_id="T-0aa1",
                serial="MT2231VS00417",
                link="gpu-n017:mlx5_9/1",
                at=SEEN.replace(month=1),
                how="taken_out",
            ),
        ],
        "text": DraftText(
            title="Replace the transceiver pair on OSFP2P2, gpu-n003 to leaf-su1-05 17/1",
            summary="Lane 2 of the link shows bursts of symbol errors that line up with the all-reduce "
            "stragglers of rank 29; the seven other links of the node are clean. Cleaning and "
            "reseating three days ago did not hold.",
            evidence_statements=[
                EvidenceStatement(
                    claim="18,412 symbol errors in 41 minutes, 94 % on lane 2.", evidence_ids=["E1"]
                ),
                EvidenceStatement(
                    claim="34 of 34 straggler steps fall inside an error burst, 4.8 expected by chance.",
                    evidence_ids=["E1", "E2"],
                ),
            ],
            alternatives=[
                "The leaf's port: the same lane failing after the transceivers are swapped points there."
            ],
            repair_steps=[
                RepairStep(
                    do="Go to R07-12 U14, rear, and compare the serial on the pull-out tab with 1660224517674.",
                    proves="You stand at the right machine.",
                ),
                RepairStep(
                    do="Take out the transceiver in OSFP2P2 and the one in port 17A of leaf-su1-05; inspect and clean both fibre ends.",
                    proves="Dirt as the cause, if the ends are dirty.",
                ),
                RepairStep(
                    do="Put in a new transceiver at both ends and run the test.",
                    proves="A pass: one of the two transceivers was bad.",
                ),
                RepairStep(
                    do="If the test fails, replace the trunk and run the test again.",
                    proves="A pass: the fibre was bad. A fail points at the leaf's port.",
                ),
            ],
            rollback="Put the old transceivers back, leave gpu-n003 out of the job pool and send the ticket back with the readings.",
        ),
        "topology_finding": TopologyFinding(
            component="gpu-n003:mlx5_9/1 lane 2",
            level="lane",
            why="The twin port shares the module and is clean.",
            would_refute_it="Errors on OSFP2P1.",
            evidence_ids=["E1"],
            agrees_with_isolation=True,
        ),
        "drafter": "claude",
        "model": "claude-sonnet-5-5",
        "effort": "high",
        "prompt_version": "4",
        "requests": 3,
        "input_tokens": 5_200,
        "output_tokens": 1_431,
        "cache_read_tokens": 12_000,
        "cost_usd": 0.0412,
        "failed_attempts": [
            FailedAttempt(
                problems=["names port 18/1, which is not in the incident"],
                answer='{"title": "secret attempt"}',
            )
        ],
        "evidence_sha256": "ab" * 32,
    }
    return TicketDraft(**{**fields, **changes})


def shortest() -> TicketDraft:
    """What the rules drafter writes when neither topology nor catalogue states anything."""
    return TicketDraft(
        ticket_id="T-1",
        incident_id="INC-1",
        drop="d1",
        node="n",
        link="n:gpu0",
        priority="low",
        fault="no data",
        replacement_part="no catalogue entry",
        port_isolation_guidance="Ask.",
        drain_required="Ask.",
        test_after_repair="Run the test.",
        pass_criteria=["0 errors"],
        text=DraftText(
            title="Look at n",
            summary="s",
            evidence_statements=[EvidenceStatement(claim="c", evidence_ids=["E1"])],
            repair_steps=[RepairStep(do="Look.", proves="p")],
            rollback="Stop.",
        ),
        drafter="rules",
    )


def longest(word: str = "interconnect ") -> TicketDraft:
    """Every text at its limit, or far beyond what any source writes where the model sets none."""

    def fill(length: int) -> str:
        return (word * (length // len(word) + 1))[:length]

    return typical(
        **dict.fromkeys(
            (
                "site",
                "hall",
                "cage",
                "row",
                "rack",
                "unit",
                "face",
                "node",
                "node_serial",
                "asset_tag",
                "gpu_slot",
                "pci_address",
                "gpu_uuid",
                "gpu_serial",
                "gpu_part_number",
                "port_label",
                "cable_id",
                "sla",
                "contact",
                "schedule",
                "customer_reference",
                "job_impact",
                "part_number",
            ),
            fill(120),
        ),
        link=fill(200),
        far_end=fill(200),
        fabric_or_switch_port=fill(200),
        fault=fill(200),
        far_place=FarPlace(**dict.fromkeys(FarPlace.model_fields, fill(120))),
        cable=CableFacts(
            length_m=12.5,
            **dict.fromkeys(("medium", "connector", "colour", "serial", "part_number"), fill(120)),
        ),
        rules_fired=[fill(200)] * 12,
        evidence=[
            EvidenceReference(
                evidence_id=f"E{n}", file=fill(200), sha256="ab" * 32, line=n, last_line=n + 9
            )
            for n in range(40)
        ],
        replacement_part=fill(400),
        parts=[
            PartChoice(
                name=fill(200),
                part_number=fill(60),
                quantity=99,
                spare_location=fill(120),
                source=fill(200),
            )
        ]
        * 8,
        repair_order=[
            RepairOrderStep(step=n, action="a" * 60, part=fill(200)) for n in range(1, 9)
        ],
        begin_at_step=8,
        port_isolation_guidance=fill(600),
        drain_scope="nodes",
        drain_required=fill(400),
        safety=[fill(400)] * 20,
        tools=[fill(200)] * 20,
        test_after_repair=fill(400),
        pass_criteria=[fill(400)] * 20,
        rma=[RmaItem(item=fill(200), value=fill(400), state="to_ask")] * 20,
        earlier_repairs=[
            EarlierRepair(
                action=fill(400),
                step=1,
                part=fill(200),
                old_serial=fill(120),
                new_serial=fill(120),
                repaired_at=SEEN,
                outcome="came_back",
            )
        ]
        * 20,
        earlier_tickets=[
            EarlierTicket(ticket_id="T-9", serial=fill(120), link=fill(200), at=SEEN, how="accused")
        ]
        * 20,
        text=DraftText(
            title=fill(140),
            summary=fill(900),
            evidence_statements=[
                EvidenceStatement(claim=fill(400), evidence_ids=["E1", "E2", "E3"])
            ]
            * 10,
            alternatives=[fill(400)] * 8,
            repair_steps=[RepairStep(do=fill(400), proves=fill(400))] * 10,
            rollback=fill(400),
        ),
        topology_finding=TopologyFinding(
            component=fill(200),
            level="lane",
            why=fill(600),
            would_refute_it=fill(400),
            agrees_with_isolation=False,
        ),
        edited_by=fill(200),
        drafter_note=fill(400),
    )


def hostile() -> TicketDraft:
    """Strings from telemetry that try to be markup, code, formulas, another direction or very long."""
    ticket = typical(
        node=HOSTILE,
        link="n" * 500,
        fault=HOSTILE,
        rack='<script>alert("n004")</script>',
        cable_id="=HYPERLINK(1)",
        far_end="\u05d0\u05d1\u05d2 \u202b" + HOSTILE,
        drain_required=HOSTILE,
        safety=[HOSTILE],
        fabric_or_switch_port="'\"&<>\u200b\u2028",
    )
    ticket.text.title = HOSTILE[:140]
    return ticket
