"""The error counts of one GPU as `dcgmi nvlink -e` gives them, turned into readings.

The table and the JSON form hold the same words and numbers; both readers end here.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from fabric_pipeline.model.records import Reading, ReadResult, RejectedLine
from fabric_pipeline.sources.nvidia_smi.counter_names import (
    TOTAL_RECOVERIES,
    canonical_counter,
    split_lane,
)
from fabric_pipeline.sources.nvidia_smi.values import (
    is_not_measured,
    judge_number,
    kind_of,
    parse_count,
)


@dataclass(frozen=True, slots=True)
class CountRow:
    """One printed count: counter words and value text of a link (None: of the whole GPU)."""

    line: int
    gpu: int | None
    link: int | None
    words: str
    value: str
    node: str = ""
    time: datetime | None = None


def add_count(row: CountRow, result: ReadResult) -> None:
    """Add one reading, or refuse the row when its value is no count or has no name.

    Counts of a whole GPU get the scope `gpu_sum`: they never name a link.
    """
    if not row.words.strip():
        rule = "the count has no name, so nothing says what was counted"
        result.rejected.append(RejectedLine(row.line, row.value[:200], rule))
        return
    number = parse_count(row.value)
    if number is None and not is_not_measured(row.value):
        rule = f"{row.words} reads {row.value[:60]!r}, which is no count"
        result.rejected.append(RejectedLine(row.line, f"{row.words}: {row.value}"[:200], rule))
        return
    words, lane = split_lane(row.words)
    counter = canonical_counter(words)
    counter = "" if counter == TOTAL_RECOVERIES else counter
    value, quality = (None, "not_supported") if number is None else judge_number(counter, number)
    gpu = "" if row.gpu is None else f"gpu{row.gpu}"
    interface = gpu if row.link is None else f"{gpu}/nvlink-{row.link}".lstrip("/")
    label = "GPU ?" if row.gpu is None else f"GPU {row.gpu}"
    result.readings.append(
        Reading(
            line=row.line,
            counter_text=row.words[:200],
            value_text=row.value[:200],
            entity_text=label if row.link is None else f"{label}, Link {row.link}",
            node=row.node,
            interface=interface,
            link_type="nvlink",
            counter=counter,
            value=value,
            kind=kind_of(counter),
            quality=quality,
            scope="gpu_sum" if row.link is None else "link" if lane is None else "lane",
            lane=lane,
            time=row.time,
        )
    )
