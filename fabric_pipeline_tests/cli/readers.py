"""An auditor who keeps asking, from a thread or from a spawned interpreter."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.audit_query import query

COUNT = "select count(*) from link_counters"
PAUSE_S = 0.5


@dataclass
class Seen:
    """Answers in order, and what went wrong."""

    answers: list[int] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def ask_in_a_loop(settings: Settings, stop: Path, report: Path) -> None:
    """Ask until the stop file appears, and once more; then write what was seen."""
    seen, last = Seen(), False
    while not last:
        last = stop.exists()
        try:
            seen.answers.append(query(settings, COUNT).rows[0][0])
        except Exception as error:
            seen.errors.append(repr(error))
        time.sleep(PAUSE_S)
    report.write_text(json.dumps(asdict(seen)))
