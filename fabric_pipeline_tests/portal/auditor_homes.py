"""Homes for tests of the matrix and the auditor's pages, and the portal over them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fabric_pipeline.portal.app import create_app
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.audit import rebuild_audit
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline_tests.portal.serving import served
from fabric_pipeline_tests.store.fakes import START, TICKET, draft, incident, later
from fabric_pipeline_tests.workflows import fabric_lake
from fabric_pipeline_tests.workflows.fabric_lake import Lake, all_ends, spike, topology
from fabric_pipeline_tests.workflows.test_pair_matrix import all_pairs

FORMULA = "=HYPERLINK(0)"
HOSTILE_NODE = '<script>alert("n")</script>\u202e\'=1+1'
NODES = ("bad-01", "mute-01", HOSTILE_NODE, *(f"calm-{n:02d}" for n in range(18)))
LOUD = ("bad-01", "gpu1/nvlink-3")
HOSTILE = '<script>alert("n")</script>\u202e' + "x" * 150


@contextmanager
def portal(settings: Settings) -> Iterator[str]:
    """The portal over a home, served while the block runs."""
    with served(create_app(settings)) as url:
        yield url


def decided_home(settings: Settings) -> Ledger:
    """A ledger with a draft, a rejection by somebody with a hostile name, an approval, a publication."""
    ledger = Ledger(settings.ledger)
    ledger.claim_drop("d1", "/drops/d1", "a" * 64, START)
    ledger.record_incidents("d1", [incident()], START)
    ledger.record_draft(draft(), later(1))
    sha256 = draft().sha256
    ledger.add_review(TICKET, sha256, "rejected", HOSTILE, FORMULA, later(2))
    review = ledger.add_review(TICKET, sha256, "approved", "reviewer-1", "reads right", later(3))
    ledger.record_publication(TICKET, sha256, review.seq, "reviewer-1", later(4), "d1/ticket.json")
    rebuild_audit(settings)
    return ledger


def troubled_home(home: Path) -> Settings:
    """21 nodes: one with a critical link, one silent, one with a hostile name and a mild error."""
    part = topology(NODES)
    lake = Lake(home).topology(part)
    lake.counters([end for end in all_ends(part) if end[0] != "mute-01"])
    lake.spikes(spike(LOUD, "replay", 5_000), spike((HOSTILE_NODE, "gpu0/nvlink-0"), "replay", 150))
    lake.incidents(fabric_lake.incident(1, ":".join(LOUD), "CRITICAL"))
    lake.write("collective_timings", all_pairs(slow=("n2", 3)))
    decided_home(lake.settings)
    return lake.settings
