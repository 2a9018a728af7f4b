"""Sensors: a new or changed drop starts a diagnosis, an approval starts the publish job.

Both are on by default. Rejections start nothing.
"""

import json
from datetime import datetime

import dagster as dg

from fabric_pipeline.orchestration.jobs import diagnose_drop, publish
from fabric_pipeline.orchestration.partitions import drops
from fabric_pipeline.orchestration.resources import FabricResource
from fabric_pipeline.store.ledger import DropClaim, Ledger
from fabric_pipeline.workflows.inbox import claim, scan_all

_RUNNING = dg.DefaultSensorStatus.RUNNING


@dg.sensor(
    job=diagnose_drop,
    minimum_interval_seconds=15,
    default_status=_RUNNING,
    description="Starts a diagnosis for each new or changed drop in data/drops, and for each that was pulled.",
)
def drop_sensor(
    context: dg.SensorEvaluationContext, fabric: FabricResource
) -> dg.SensorResult | dg.SkipReason:
    """Hashes a drop only when its names, sizes or times changed; waits until it has settled."""
    settings, now = fabric.settings(), fabric.now()
    ledger = Ledger(settings.ledger)
    seen: dict[str, str] = json.loads(context.cursor or "{}")
    requests, keys, notes = [], [], []
    for entry in scan_all(settings):
        if seen.get(str(entry.path)) == entry.signature or not entry.is_settled(now):
            continue
        try:
            found = claim(ledger, entry.path, now)
        except Exception as problem:  # one bad drop must not keep the others waiting; tried again
            context.log.warning(f"{entry.path.name} cannot be read: {problem!r}")
            notes.append(f"{entry.path.name}: {problem}")
            continue
        seen[str(entry.path)] = entry.signature
        if found.state == "duplicate_of":
            notes.append(
                f"{entry.path.name} has the same content as drop {found.owner}: not read again"
            )
        elif found.state == "unchanged" and found.processed:
            notes.append(f"{found.drop_id} was read before")
        else:
            keys.append(found.drop_id)
            requests.append(_request(found, now))
    for note in notes:
        context.log.info(note)
    cursor = json.dumps(seen)
    if not requests:
        context.update_cursor(cursor)
        return dg.SkipReason("; ".join(notes) or "no new drop")
    return dg.SensorResult(
        run_requests=requests,
        cursor=cursor,
        dynamic_partitions_requests=[drops.build_add_request(keys)],
    )


@dg.sensor(
    job=publish,
    minimum_interval_seconds=15,
    default_status=_RUNNING,
    description="Starts the publish job for each approval; rejections start nothing.",
)
def review_sensor(
    context: dg.SensorEvaluationContext, fabric: FabricResource
) -> dg.SensorResult | dg.SkipReason:
    """One publish run per approval, keyed by the number of the review."""
    reviews = Ledger(fabric.settings().ledger).reviews_after(int(context.cursor or 0))
    if not reviews:
        return dg.SkipReason("no new review")
    requests = [
        dg.RunRequest(
            run_key=f"review-{row.seq}",
            partition_key=row.drop,
            tags={"fabric/reviewed_by": row.reviewer},
        )
        for row in reviews
        if row.decision == "approved"
    ]
    keys = sorted({str(request.partition_key) for request in requests})
    return dg.SensorResult(
        run_requests=requests,
        cursor=str(reviews[-1].seq),
        dynamic_partitions_requests=[drops.build_add_request(keys)] if keys else [],
    )


def _request(found: DropClaim, now: datetime) -> dg.RunRequest:
    # Dagster never runs a key twice and says so nowhere. The cursor sorts out repeats, so the key only
    # has to be new: a drop that goes A -> B -> A is read three times, also when a copy kept its times.
    run_key = f"{found.drop_id}:{found.content_sha256[:16]}:{now:%Y%m%dT%H%M%S%f}"
    return dg.RunRequest(run_key=run_key, partition_key=found.drop_id)
