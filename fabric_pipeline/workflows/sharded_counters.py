"""From the parts of raw_telemetry to the parts of link_counters, shard by shard on an engine.

A shard that fails is reported and the others are kept: their links are judged, those of the failed one are
unknown. Results are found again by what they follow from, so a rerun counts what is new.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from fabric_pipeline.engine.base import Done
from fabric_pipeline.engine.choose import open_engine
from fabric_pipeline.errors import PipelineError
from fabric_pipeline.model.progress import Tell
from fabric_pipeline.schemas.validation import Violation
from fabric_pipeline.settings import Settings
from fabric_pipeline.sources.drop import sha256_of
from fabric_pipeline.store import lake
from fabric_pipeline.store.shard_files import Manifest, Place, collect, send
from fabric_pipeline.workflows.shard_counting import (
    Counted,
    CountItem,
    as_said,
    count_shard,
    violations_of,
)
from fabric_pipeline.workflows.staged_shelf import code_sha256

TABLE = "link_counters"
_KINDS = ("part", "series", "increments")
_SUMMED = ("read", "accepted", "quarantined", "resets")


@dataclass(frozen=True, slots=True)
class FailedShard:
    """A shard without a result: which nodes, and why."""

    nodes: str
    problem: str


@dataclass(slots=True)
class ShardedCounters:
    """What was written, or the rules that were broken; failures and figures of the shards together."""

    written: lake.WrittenTable | None
    violations: list[Violation]
    failed: list[FailedShard]
    figures: dict[str, int]


def count_in_shards(
    settings: Settings, drop_id: str, machines: dict[str, str], tell: Tell
) -> ShardedCounters:
    """raw_telemetry -> link_counters of one drop, a part of the one for a part of the other.

    Raises PipelineError when no shard at all could be counted.
    """
    place = place_of(settings)
    items = _items(settings, place, drop_id, machines)
    with open_engine(settings) as engine:
        done = engine.map(count_shard, items, words=f"counting {drop_id}", tell=tell)
    counted = [one.result for one in done if one.result is not None]
    if broken := violations_of(counted):
        return ShardedCounters(None, broken, [], {})
    nodes = nodes_of_parts(settings, drop_id)
    failed = [FailedShard(nodes[one.number], one.problem) for one in done if one.is_failed]
    if not counted:
        raise PipelineError(
            f"none of {len(items)} shards of {drop_id} could be counted: {failed[0].problem}",
            "mend the cause and run the drop again",
        )
    figures = {name: sum(_said(one, name) for one in counted) for name in _SUMMED}
    figures["shards"] = len(items)
    figures["shards_found_again"] = sum(one.was_there for one in counted)
    written = _collected(settings, place, drop_id, done, failed)
    return ShardedCounters(written, [], failed, figures)


def place_of(settings: Settings) -> Place:
    """Where shards of this home are exchanged."""
    return Place(settings.shard_store, str(settings.shards))


def failed_shards(settings: Settings, drop_id: str) -> list[FailedShard]:
    """Shards of a drop that could not be counted when it was counted last."""
    head = lake.head_path(settings.lake, TABLE, drop_id)
    if head.name != lake.PARTS_FILE:
        return []
    return [FailedShard(**one) for one in lake.listing(head)["said"]["failed"]]


def nodes_of_parts(settings: Settings, drop_id: str) -> list[str]:
    """The nodes in each part of raw_telemetry, in words."""
    head = lake.head_path(settings.lake, "raw_telemetry", drop_id)
    if head.name != lake.PARTS_FILE:
        return ["all nodes"]
    return list(lake.listing(head)["said"]["nodes"])


def _items(
    settings: Settings, place: Place, drop_id: str, machines: dict[str, str]
) -> list[CountItem]:
    paths = lake.parts_of(settings.lake, "raw_telemetry", drop_id)
    hashes = [sha256_of(path) for path in paths]
    named = tuple(sorted(machines.items()))
    items = []
    for address, one in zip(send(place, paths, hashes), hashes, strict=True):
        item = CountItem(place, address, one, named, "")
        follows_from = json.dumps([code_sha256(), as_said(item)], sort_keys=True)
        key = sha256(follows_from.encode()).hexdigest()
        items.append(CountItem(place, address, one, named, key))
    return items


def _collected(
    settings: Settings,
    place: Place,
    drop_id: str,
    done: list[Done[Counted]],
    failed: list[FailedShard],
) -> lake.WrittenTable:
    """Bring the results into the lake and make them the table."""
    folder = lake.part_path(settings.lake, TABLE, drop_id).parent
    manifests = [
        (one.number, one.result.manifest) for one in done if one.result and one.result.manifest
    ]
    files: dict[str, list[Any]] = {kind: [] for kind in _KINDS}
    for number, manifest in manifests:
        for kind in _KINDS:
            target = folder / lake.part_name(kind, number, manifest.files[kind].sha256)
            collect(place, manifest, kind, target)
            files[kind].append(target)
    said = {
        "rows": sum(manifest.said["accepted"] for _, manifest in manifests),
        "rows_of_parts": [manifest.said["accepted"] for _, manifest in manifests],
        "series_of_parts": [manifest.said["series"] for _, manifest in manifests],
        "sha256_of_parts": [manifest.files["part"].sha256 for _, manifest in manifests],
        "failed": [{"nodes": one.nodes, "problem": one.problem} for one in failed],
    }
    return lake.keep_parts(settings.lake, TABLE, drop_id, files, said)


def _said(counted: Counted, name: str) -> int:
    manifest: Manifest | None = counted.manifest
    return int(manifest.said[name]) if manifest else 0
