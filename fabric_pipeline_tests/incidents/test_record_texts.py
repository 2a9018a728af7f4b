"""What a record says to people: shared cost, failing links, parts by their own name, no raw ids in texts."""

from __future__ import annotations

from typing import Any

from fabric_pipeline.incidents.build import Context, build_incidents
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.model.findings import EvidenceRef, Finding
from fabric_pipeline.model.records import TopologyPart
from fabric_pipeline.model.topology import Topology

NODE = {
    "node": "n1", "rack": "R1", "unit": "7",
    "gpus": [{"gpu": 3, "slot": "SXM4", "pcie_switch": "s1"}],
    "nics": [
        {"hca": "mlx5_3", "port_label": "OSFP2P1", "pcie_switch": "s1"},
        {"hca": "mlx5_4", "port_label": "OSFP2P2"},
        {"hca": "mlx5_5", "port_label": "OSFP3P1"},
    ],
}  # fmt: skip
LINKS = [
    {"id": "p", "type": "pcie", "a": {"node": "n1", "port": "gpu3/pcie"}, "b": {"node": "n1", "port": "pcie-switch-0/port-1"}},
    *(
        {"id": f"i{n}", "type": "infiniband", "a": {"node": "n1", "port": f"mlx5_{n}/1"}, "b": {"switch": "leaf-4", "port": n}}
        for n in (3, 4, 5)
    ),
]  # fmt: skip
KNOWN = Topology(
    [
        TopologyPart(
            nodes=[NODE], switches=[{"name": "leaf-4", "rack": "R9", "unit": "40"}], links=LINKS
        )
    ]
)


def said(component: str, **changes: Any) -> Finding:
    facts: dict[str, Any] = {
        "kind": "physical_link_degradation",
        "severity": "warning",
        "role": "cause",
        "reason": f"{component} counted 40 errors.",
        "evidence": [EvidenceRef("counters.csv", 12, 30, f"{component} counted 40 errors")],
    }
    return Finding(component, **(facts | changes))


def records(*findings: Finding) -> list[IncidentRecord]:
    return build_incidents(list(findings), Context("d1", "larch", topology=KNOWN))


def slowed(component: str, *runs: str, **changes: Any) -> Finding:
    numbers = {"degradation_pct": 867.9, "runs": list(runs), "lost_gpu_s": 72000.0}
    return said(component, numbers=numbers, **changes)


def test_the_cost_of_one_link_is_its_own() -> None:
    (one,) = records(slowed("n1:mlx5_3/1", "r1"))
    assert "Collectives over it are 867.9 % slower than their baseline." in one.summary
    assert one.numbers.get("links_accused_over_its_runs") is None


def test_the_cost_of_a_run_is_blamed_on_none_of_its_links_alone() -> None:
    made = records(
        slowed("n1:mlx5_3/1", "r1"),
        slowed("n1:mlx5_4/1", "r2", "r1"),
        slowed("n1:mlx5_5/1", "r9"),
        slowed("n1:gpu3/nvlink-2", "r1", severity="watch", role="context"),
    )
    by_link = {one.isolated_component: one for one in made}
    for link in ("n1:mlx5_3/1", "n1:mlx5_4/1"):
        assert "over it are" not in by_link[link].summary
        assert "2 links are accused over that run" in by_link[link].summary
        assert "the share of each is not separable here" in by_link[link].summary
        assert by_link[link].numbers["links_accused_over_its_runs"] == 2
    assert "Collectives over it are" in by_link["n1:mlx5_5/1"].summary


def test_a_gpu_off_the_bus_is_a_matter_of_its_pcie_link() -> None:
    (made,) = records(said("n1:gpu3", kind="gpu_lost", numbers={"link_type": "pcie"}))
    assert (made.link_type, made.action_code) == ("pcie", "reseat_card_or_riser")
    assert made.isolated_component == "n1:gpu3"
    assert made.far_end == "n1:pcie-switch-0/port-1"
    assert made.place.gpu_slot == "SXM4"


def test_texts_leave_out_the_word_for_an_unknown_node_and_ids_keep_it() -> None:
    switch = "unknown:leaf-4/port-3"
    (made,) = records(
        said(switch, alternatives=[f"{switch}: its errors came later", "a hot room"]),
        said("n1:mlx5_3/1", role="symptom", cause=switch, reason=f"It follows {switch}."),
    )
    texts = [made.summary, *made.reasoning, made.evidence[0].says, made.symptoms[0].reason]
    texts += [one.explanation for one in made.alternatives]
    assert not any("unknown:" in text for text in texts)
    assert any("leaf-4/port-3" in text for text in texts)
    assert made.isolated_component == switch
    assert made.evidence[0].excerpt.startswith(switch)
    assert [one.why_set_aside for one in made.alternatives] == [
        "its errors came later",
        "not ruled out by these data",
    ]


def test_a_shared_part_names_the_links_that_fail_and_where_they_end() -> None:
    ports = [
        said(f"unknown:leaf-4/port-{n}", role="symptom", cause="unknown:leaf-4") for n in (5, 3)
    ]
    (made,) = records(said("unknown:leaf-4", kind="shared_component"), *ports)
    assert made.numbers["failing_links"] == [
        "leaf-4/port-3 to n1:mlx5_3/1",
        "leaf-4/port-5 to n1:mlx5_5/1",
    ]
    assert made.reasoning[-1] == (
        "Failing are 2 links of the 3 that the topology states for it: leaf-4/port-3 to n1:mlx5_3/1, "
        "leaf-4/port-5 to n1:mlx5_5/1."
    )
    assert (made.place.rack, made.place.unit) == ("R9", "40")


def test_the_other_port_of_a_twin_port_plug_is_named_when_labels_tell() -> None:
    twins = {
        one.isolated_component: one.numbers.get("plug_twin")
        for one in records(*(said(f"n1:mlx5_{n}/1") for n in (3, 4, 5)))
    }
    assert twins == {"n1:mlx5_3/1": "n1:mlx5_4/1", "n1:mlx5_4/1": "n1:mlx5_3/1", "n1:mlx5_5/1": None}  # fmt: skip
