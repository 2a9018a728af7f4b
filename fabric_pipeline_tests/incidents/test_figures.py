"""Every number of a record can be had again: its query is run and returns it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fabric_pipeline.diagnose.diagnose import Evidence, diagnose
from fabric_pipeline.incidents.build import Context, build_incidents
from fabric_pipeline.incidents.figures import link_ends
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.topology import Topology
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.audit import rebuild_audit
from fabric_pipeline.store.audit_query import query
from fabric_pipeline.store.columns import insert_columns
from fabric_pipeline.store.duck import session
from fabric_pipeline.workflows.drop_stages import load_incidents
from fabric_pipeline_tests.detect.link_state.states import state
from fabric_pipeline_tests.diagnose.evidence import (
    correlation,
    hit,
    spike,
    straggler,
    topology,
)
from fabric_pipeline_tests.pipeline_runs import ROOT, diagnose_without_dagster
from fabric_pipeline_tests.workflows.dossier_drops import HOSTILE as HOSTILE_NODES
from fabric_pipeline_tests.workflows.dossier_drops import make_world

LINK, FAR, SLOT = "n1:gpu3/nvlink-4", "n1:nvswitch-2/port-17", "n1:gpu3/pcie"
TABLE_NAMES = ("spike_detections", "straggler_correlations", "stragglers")
SLOWNESS = {"degradation_pct", "latency_us", "baseline_us", "gpu_hours_lost"}
COINCIDENCE = {"overlap_share", "covered_share", "effect_pct"}
WEIGHED = {"p_value", "confidence", "share_slow", "slow_anyway", "edges_fitting", "edges_visible", "dose"}  # fmt: skip
HOSTILE = ("n1'; drop table stragglers; --", "n\n1", "n\u202e1\x00", 'n"1\\', "')) or ((1=1")


def check_run(settings: Settings, records: Iterable[IncidentRecord]) -> set[str]:
    """Run every query of every record on the audit file; returns the names of the figures."""
    seen = set()
    for record in records:
        names = [figure.name for figure in record.figures]
        assert len(names) == len(set(names))
        for figure in record.figures:
            rows = query(settings, figure.query).rows
            assert rows == [(pytest.approx(figure.value, rel=1e-6, abs=1e-6),)], (record, figure)
            assert figure.says
            assert figure.unit
        seen |= set(names)
    return seen


def judged(drop: str = "d1", **evidence: Any) -> dict[str, dict[str, float]]:
    """Component -> figures of the diagnosis, each checked on the rows it was made of."""
    facts = Evidence(**({"has_timing": True, "has_measurements": True} | evidence))
    with closing(session()) as con:
        for name, rows in zip(
            TABLE_NAMES, (facts.spikes, facts.correlations, facts.stragglers), strict=True
        ):
            columns = [(column.name, column.type) for column in TABLES[name].columns]
            con.execute(f"create temp table {name} as {TABLES[name].empty_sql()}")
            insert_columns(
                con, name, columns, [row.row(one) for row in rows for one in (drop, "z")]
            )
            # What another drop counted is never in an answer.
            con.execute(f"update {name} set {_largest(name)} where \"drop\" = 'z'")
        records = build_incidents(diagnose(facts).findings, Context(drop, topology=facts.topology))
        for figure in (figure for record in records for figure in record.figures):
            found = con.execute(figure.query).fetchall()
            assert found == [(pytest.approx(figure.value, rel=1e-9),)], figure
    return {r.isolated_component: {f.name: f.value for f in r.figures} for r in records}


def _largest(table: str) -> str:
    columns = {
        "spike_detections": ("events", "rate_per_hour", "surprise"),
        "straggler_correlations": ("score", "overlap_bins", "p_value"),
        "stragglers": ("deviation_pct", "latency_us", "lost_s"),
    }
    return ", ".join(f"{column} = 1e9" for column in columns[table])


def weighed(component: str, run: str = "r1", **changes: Any) -> Any:
    facts = {"share_slow": 0.97, "slow_anyway": 0.02, "edges_fitting": 3, "edges_visible": 4, "dose": 0.5}  # fmt: skip
    return correlation(component, run, **(facts | changes))


def test_all_figures_of_a_real_run_come_back_from_the_audit_file(diagnosed_once: Settings) -> None:
    seen = check_run(diagnosed_once, load_incidents(diagnosed_once, "small"))
    assert seen >= {"counts.replay", "counts.crc_multi_bit", "max_rate_per_hour", "surprise"}
    assert seen >= (COINCIDENCE | WEIGHED | SLOWNESS) - {"dose", "gpu_hours_lost"}


def test_all_figures_of_a_shipped_drop_come_back_from_the_audit_file(tmp_path: Path) -> None:
    settings = Settings(root=ROOT, home=tmp_path / "warehouse")
    drop = ROOT / "data" / "drops" / "crc-multibit-lane"
    records = load_incidents(settings, diagnose_without_dagster(settings, drop))
    assert check_run(settings, records) >= SLOWNESS | {"counts.crc_multi_bit"}
    assert {r.fault_type for r in records if r.figures} >= {"physical_link_degradation", "not_a_link"}  # fmt: skip


def test_figures_of_hostile_nodes_come_back_from_the_audit_file(tmp_path: Path) -> None:
    world = make_world(tmp_path, (HOSTILE_NODES[2], *HOSTILE_NODES[:2]))
    rebuild_audit(world.settings)
    assert HOSTILE_NODES[2] in world.accused.isolated_component
    assert check_run(world.settings, world.records) >= {"counts.crc_multi_bit", "degradation_pct"}


def test_an_accused_link_states_counts_weighing_and_slowness() -> None:
    found = judged(
        spikes=[
            spike(LINK, events=300), spike(LINK, events=200, spike=2), spike(FAR, events=400), spike(FAR, "replay", 90),
            spike(LINK, events=450, gpu_uuid="GPU-2"), spike("n1:gpu4/nvlink-4", events=9000, link_type="nvlink", hits=[]),
        ],
        stragglers=[
            straggler(), straggler(interval=2, latency_us=3000.0), straggler("r2", latency_us=2500.0, gpus=None),
            straggler(interval=3, latency_us=9000.0, kind="late_rank"), straggler("r9", latency_us=8000.0),
        ],
        correlations=[
            weighed(LINK, overlap_bins=19), weighed(FAR, "r2", score=9.0, overlap_bins=18, p_value=0.01, dose=None),
            weighed(LINK, "r3", score=99.0, verdict="suspect"), weighed("n7:gpu0/nvlink-0", score=50.0),
        ],
        topology=topology((LINK, FAR)),
    )[LINK]  # fmt: skip
    assert (found["counts.crc_flit"], found["counts.replay"]) == (500, 90)
    assert found["max_rate_per_hour"] == 2700
    assert (found["p_value"], "dose" in found) == (0.01, False), "the row of the highest score"
    assert (found["degradation_pct"], found["latency_us"]) == (200.0, 3000.0)
    assert found["gpu_hours_lost"] == pytest.approx(2 * 0.06 * 16 / 3600)
    assert set(found) >= (COINCIDENCE | WEIGHED | SLOWNESS) - {"dose"}


def test_without_a_slow_interval_the_effect_is_the_degradation() -> None:
    found = judged(spikes=[spike(LINK)], correlations=[weighed(LINK, effect_pct=44.0)])[LINK]
    assert found["degradation_pct"] == found["effect_pct"] == 44.0
    assert not set(found) & {"latency_us", "baseline_us", "gpu_hours_lost"}


def test_a_suspected_link_states_the_weighing_of_its_best_row() -> None:
    rows = [
        weighed(LINK, run, verdict="suspect", confidence=sure, score=score)
        for run, sure, score in (("r1", 0.6, 4.0), ("r2", 0.5, 5.0))
    ]
    found = judged(spikes=[spike(LINK)], correlations=rows)[LINK]
    assert found["confidence"] == 0.5
    assert not set(found) & (COINCIDENCE | SLOWNESS | {"p_value"})


def narrowed() -> list[Any]:
    """A link that lost half of its width after ten minutes."""
    return [
        state("gpu3/pcie", counter, value, minute=minute)
        for counter, value, minute in (("width", 16, 0), ("width_max", 16, 0), ("width", 8, 10))
    ]


def by_two_names() -> list[Any]:
    return [
        weighed(SLOT, "r1", score=9.0, overlap_bins=5, p_value=0.04, confidence=0.9),
        weighed(SLOT, "r2", score=4.0, overlap_bins=50, p_value=0.01, confidence=0.95),
    ]


def test_a_weighed_state_states_its_row_of_the_widest_overlap() -> None:
    found = judged(
        states=narrowed(), stragglers=[straggler(), straggler("r2")], correlations=by_two_names()
    )[SLOT]
    assert (found["p_value"], found["confidence"]) == (0.01, 0.95)
    assert found["gpu_hours_lost"] == pytest.approx(2 * 0.06 * 16 / 3600)
    assert not set(found) & COINCIDENCE


def test_counts_joined_to_a_state_keep_the_figures_of_both() -> None:
    found = judged(
        spikes=[spike(SLOT, "pcie_replay", link_type="pcie")],
        states=narrowed(),
        stragglers=[straggler(), straggler("r2", latency_us=4000.0)],
        correlations=by_two_names(),
    )[SLOT]
    assert found["counts.pcie_replay"] == 500
    assert found["p_value"] == 0.04, "the weighing by errors leads"
    assert set(found) >= COINCIDENCE | SLOWNESS


@pytest.mark.parametrize("device", ["pci-0000:5d:00.0", "pci-0000:5d:00.0/pcie"])
def test_a_gpu_named_by_its_address_is_found(device: str) -> None:
    node = {"node": "n1", "gpus": [{"gpu": 3, "pci": "5D:00.0"}, {"gpu": 4, "pci": "9c:00.0"}]}
    known = topology((LINK, FAR), nodes=[node])
    found = judged(
        spikes=[
            spike("n1:pci-0000:5d:00.0/nvlink-4", events=70), spike(FAR, events=60),
            spike(f"n1:{device}", "pcie_replay", events=50, link_type="pcie"),
        ],
        topology=known, has_timing=False,
    )  # fmt: skip
    assert (found[LINK]["counts.crc_flit"], found[SLOT]["counts.pcie_replay"]) == (70, 50)


def test_the_end_that_repeats_is_counted_in_without_a_map() -> None:
    partner = "n1:gpu5/nvlink-2"
    loud = [hit("replay_plain_limit", "warning")]
    found = judged(
        spikes=[spike(LINK, events=900), spike(partner, "replay", 70, hits=loud)], has_timing=False
    )
    assert found[LINK]["counts.replay"] == 70
    assert link_ends(LINK, Topology()) == [("n1", "gpu3/nvlink-4")]


def test_totals_of_a_port_are_not_among_the_counts_of_its_link() -> None:
    port = {"link_type": "infiniband", "counter": "symbol_error"}
    spikes = [spike("n1:mlx5_3/1", **port, events=7), spike("n1:mlx5_3/1", **port, events=9e6, at_s=None, exposure_s=None)]  # fmt: skip
    assert judged(spikes=spikes, has_timing=False)["n1:mlx5_3/1"]["counts.symbol_error"] == 7


def test_slow_runs_without_a_link_state_their_own_intervals() -> None:
    found = judged(
        stragglers=[
            straggler(kind="late_rank", late_ranks=[5], late_places=["n1:gpu5"]), straggler(latency_us=1500.0),
            straggler(kind="late_rank", interval=3, latency_us=1010.0, late_ranks=[5], late_places=["n1:gpu5"]),
        ]
    )  # fmt: skip
    assert (found["n1:gpu5"]["latency_us"], found["unknown:unknown"]["latency_us"]) == (2000, 1500)
    assert found["n1:gpu5"]["gpu_hours_lost"] == pytest.approx(0.06 * 16 / 3600), "noise is no loss"


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_do_not_break_the_queries(name: str) -> None:
    near = f"{name}:gpu3/nvlink-4"
    found = judged(
        name,
        spikes=[spike(near)],
        stragglers=[straggler(name, nodes=[name])],
        correlations=[weighed(near, name)],
    )
    assert set(found[near]) >= {"counts.crc_flit", *COINCIDENCE, *SLOWNESS, *WEIGHED}


def test_a_finding_without_figures_has_none() -> None:
    (made,) = build_incidents(
        [Finding(LINK, "link_down", "warning", "cause", "Down.")], Context("d")
    )
    assert made.figures == []
