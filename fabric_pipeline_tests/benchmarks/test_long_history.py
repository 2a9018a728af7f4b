"""The home with an invented history is one that the pipeline could have written itself."""

from __future__ import annotations

from pathlib import Path

from benchmarks.long_home import make_home
from fabric_pipeline.store import lake
from fabric_pipeline.store.audit import rebuild_audit
from fabric_pipeline.store.ledger import Ledger


def test_the_invented_home_holds(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home", drops=4, incidents=40)
    ledger = Ledger(home.ledger)
    assert ledger.verify_chain() == []
    assert len({seen.incident_id for seen in ledger.incidents()}) == 40
    assert len(lake.drops_of(home.lake, "link_counters")) == 4
    assert len(ledger.spans()) == 4
    assert {row.state for row in ledger.tickets()} == {"awaiting", "rejected"}
    assert rebuild_audit(home).rows["incident_life"] == len(ledger.tickets())
