"""One link, its pairs of GPUs and a comparison as JSON; the names of the keys are an interface.

What is not known is null, never zero. The link itself has the keys that it has in `topology --json`.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from fabric_pipeline.workflows.drop_compare_model import DropComparison
from fabric_pipeline.workflows.fabric_series import FabricSeries
from fabric_pipeline.workflows.fabric_view_json import view_as_json
from fabric_pipeline.workflows.fabric_view_model import FabricView, Links
from fabric_pipeline.workflows.link_view_model import CountPair, LinkView
from fabric_pipeline.workflows.pair_matrix import PairMatrix


def link_as_json(view: FabricView, link: LinkView, series: FabricSeries) -> dict[str, Any]:
    """The link with its ends, counters, split of bits, coincidences, incidents and errors in time."""
    alone = view_as_json(replace(view, racks=[], switches=[], links=Links.of([link.link])))
    strip = None if series.chosen is None else series.strips[series.chosen]
    bits = link.bits
    return {
        "drop": link.drop,
        "component": link.component,
        "link": alone["links"][0],
        "ends": [
            {
                "component": end.end.component,
                "kind": end.kind,
                "place": end.place.model_dump(mode="json"),
                "now": [dict(zip(("name", "value", "unit"), one, strict=True)) for one in end.now],
            }
            for end in link.ends
        ],
        "cable": link.cable.model_dump(mode="json"),
        "counters": [_pair(pair) for pair in link.counts],
        "bits": None if bits is None else asdict(bits) | {"multi_share": bits.multi_share},
        "coincidences": [asdict(one) for one in link.coincidences],
        "incidents": [
            {
                "record": one.record.model_dump(mode="json"),
                "life": one.life.state if one.life else None,
                "ticket": one.ticket.ticket_id if one.ticket else None,
                "ticket_state": one.ticket.state if one.ticket else None,
            }
            for one in link.incidents
        ],
        "clock": None if series.clock is None else asdict(series.clock),
        "errors": None if strip is None else asdict(strip),
        "notes": link.notes,
    }


def pairs_as_json(drop: str, pairs: PairMatrix | None) -> dict[str, Any]:
    """Every measured pair with its ratio to the median of its class; no pairs without any."""
    if pairs is None:
        return {"drop": drop, "noun": None, "source": None, "medians": {}, "pairs": []}
    return {
        "drop": drop,
        "noun": pairs.noun,
        "source": pairs.source,
        "names": pairs.names,
        "medians": pairs.medians,
        "left_out": pairs.left_out,
        "pairs": [asdict(pair) for pair in sorted(pairs.pairs, key=lambda pair: -pair.ratio)],
    }


def comparison_as_json(found: DropComparison) -> dict[str, Any]:
    """Both lists of changes, their counts, and what could not be compared."""
    return {**asdict(found), "counts": found.counts}


def _pair(pair: CountPair) -> dict[str, Any]:
    ends = {
        name: None if one is None else asdict(one) | {"share": one.share, "quality_says": one.words}
        for name, one in (("a", pair.a), ("b", pair.b))
    }
    return {"counter": pair.counter, "says": pair.says, "lane": pair.lane, **ends}
