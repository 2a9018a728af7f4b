"""From the parts of raw_telemetry to the parts of link_counters, shard by shard on an engine.

A shard that fails is reported and the others are kept: their links are judged, those of the failed one are
unknown. Results are found again by what they follow from, so a rerun counts what is new.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from fabric_pipeline.engine.choose import open_engine
from fabric_pipeline.errors import PipelineError
from fabric_pipeline.model.progress import Tell
from fabric_pipeline.schemas.validation import Violation
from fabric_pipeline.settings import Settings
from fabric_pipeline.sources.drop import sha256_of
from fabric_pipeline.store import lake
from fabric_pipeline.store.duck import session
from fabric_pipeline.store.shard_files import Manifest, Place, collect, send
from fabric_pipeline.workflows.ingest import machines_apart
from fabric_pipeline.workflows.shard_counting import CountItem, count_shard, violations_of
from fabric_pipeline.workflows.shards import FailedShard, RawPart, raw_parts
from fabric_pipeline.workflows.staged_shelf import code_sha256

_CHANGED = "its readings are not those that were written; run the drop again with --force"
_KINDS = ("part", "series", "increments")
_SUMMED = ("read", "accepted", "quarantined", "resets")


@dataclass(slots=True)
class ShardedCounters:
    """What was written, or the rules that were broken; failures and figures of the shards together."""

    written: lake.WrittenTable | None
    violations: list[Violation]
    failed: list[FailedShard]
    figures: dict[str, int]


def count_in_shards(settings: Settings, drop_id: str, tell: Tell) -> ShardedCounters:
    """raw_telemetry -> link_counters of one drop, a part of the one for a part of the other.

    Raises PipelineError when no shard at all could be counted.
    """
    with_workers = settings.engine == "dask"  # in this process there is nobody to send files to
    place = Place(settings.shard_store if with_workers else "", str(settings.shards))
    parts = raw_parts(settings, drop_id)
    sound = [part for part in parts if sha256_of(part.path) == part.sha256]
    items = _items(place, sound)
    with open_engine(settings) as engine:
        done = engine.map(count_shard, items, words=f"counting {drop_id}", tell=tell)
    counted = [(part, one.result) for part, one in zip(sound, done, strict=True) if one.result]
    if broken := violations_of(result for _, result in counted):
        return ShardedCounters(None, broken, [], {})
    problems = dict.fromkeys(parts, _CHANGED)
    problems |= {part: one.problem for part, one in zip(sound, done, strict=True)}
    failed = [
        FailedShard(part.number, part.nodes, problem)
        for part, problem in problems.items()
        if problem
    ]
    if not counted:
        raise PipelineError(
            f"none of {len(parts)} shards of {drop_id} could be counted: {failed[0].problem}",
            "mend the cause and run the drop again",
        )
    manifests = [(part.number, one.manifest) for part, one in counted if one.manifest]
    figures = {name: sum(said.said[name] for _, said in manifests) for name in _SUMMED}
    figures["shards"] = len(parts)
    figures["shards_found_again"] = sum(one.was_there for _, one in counted)
    written = _collected(settings, place, drop_id, manifests, failed)
    return ShardedCounters(written, [], failed, figures)


def _items(place: Place, parts: Sequence[RawPart]) -> list[CountItem]:
    with closing(session()) as connection:
        machines: tuple[tuple[str, str], ...] = ()
        if parts:
            lake.attach_file(connection, [part.path for part in parts], "raw_telemetry")
            machines = tuple(sorted(machines_apart(connection).items()))
    hashes = [part.sha256 for part in parts]
    items = []
    for address, one in zip(
        send(place, [part.path for part in parts], hashes), hashes, strict=True
    ):
        follows_from = json.dumps([code_sha256(), one, machines])
        key = sha256(follows_from.encode()).hexdigest()
        items.append(CountItem(place, address, one, machines, key))
    return items


def _collected(
    settings: Settings,
    place: Place,
    drop_id: str,
    manifests: Sequence[tuple[int, Manifest]],
    failed: Sequence[FailedShard],
) -> lake.WrittenTable:
    """Bring the results into the lake and make them the table."""
    folder = lake.part_path(settings.lake, "link_counters", drop_id).parent
    files: dict[str, list[Path]] = {kind: [] for kind in _KINDS}
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
        "failed": [asdict(one) for one in failed],
    }
    return lake.keep_parts(settings.lake, "link_counters", drop_id, files, said)
