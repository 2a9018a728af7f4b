"""Dagster metadata made from the table descriptions: column schema, lineage, specs, results."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any

import dagster as dg

from fabric_pipeline.orchestration.partitions import drops
from fabric_pipeline.schemas.lineage import column_lineage
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.schemas.table import Table
from fabric_pipeline.workflows.drop_stages import StageResult

OWNERS = ["team:fabric-diagnosis"]
SCHEMA_CHECK = "fits_its_schema"


def table_spec(name: str, deps: Sequence[str] | None = None) -> dg.AssetSpec:
    """The asset of a table: group, kinds, owners, description, columns."""
    table = TABLES[name]
    return dg.AssetSpec(
        key=name,
        deps=list(table.upstream if deps is None else deps),
        description=f"{table.description}\n\nGrain: {table.grain}. Key: {', '.join(table.key)}.",
        group_name=table.group,
        kinds={"duckdb", "parquet", "pandera"},
        owners=OWNERS,
        metadata={"dagster/column_schema": column_schema(table), "dagster/table_name": name},
        partitions_def=drops,
    )


def schema_check_spec(name: str) -> dg.AssetCheckSpec:
    """The check that validation fills in: blocking, so that a wrong table goes no further."""
    with warnings.catch_warnings():
        # Partitions on checks are a preview feature; without them the UI shows no drop's result.
        warnings.simplefilter("ignore", dg.PreviewWarning)
        return dg.AssetCheckSpec(
            SCHEMA_CHECK,
            asset=name,
            blocking=True,
            description=f"pandera rules of {name}: types, nullability, values, unique key",
            partitions_def=drops,
        )


def column_schema(table: Table) -> dg.TableSchema:
    """Columns with types, rules and descriptions for the Dagster UI."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                column.name,
                type=column.type.lower(),
                description=column.description,
                constraints=dg.TableColumnConstraints(
                    nullable=column.nullable, other=list(column.rules())
                ),
            )
            for column in table.columns
        ],
        constraints=dg.TableConstraints(other=[f"key: {', '.join(table.key)}"]),
    )


def result_of(
    stage: StageResult, extra: Mapping[str, Any] | None = None
) -> dg.MaterializeResult[Any]:
    """What a stage wrote, as Dagster shows it, with the outcome of its validation."""
    metadata: dict[str, Any] = {
        "dagster/row_count": stage.rows,
        "dagster/column_lineage": _lineage(stage.table),
        **stage.figures,
        **(extra or {}),
    }
    return dg.MaterializeResult(
        asset_key=stage.table,
        metadata=metadata,
        data_version=data_version(stage.sha256),
        check_results=[_schema_result(stage)],
    )


@dataclass(slots=True)
class Clock:
    """Seconds that a block took, once it is over."""

    seconds: float = 0.0


@contextmanager
def timed() -> Iterator[Clock]:
    """The time of a block, also when it fails."""
    clock, began = Clock(), monotonic()
    try:
        yield clock
    finally:
        clock.seconds = monotonic() - began


def speed(
    clock: Clock, *, readings: int | None = None, size: int | None = None, files: int | None = None
) -> dict[str, Any]:
    """Metadata on the cost of a step: seconds, and what it read in them where it reads telemetry.

    `size` in bytes. Rates are those of the whole step, so that they can be compared over drops.
    """
    took = max(clock.seconds, 1e-6)
    metadata: dict[str, Any] = {"seconds": round(clock.seconds, 3)}
    if files is not None:
        metadata["files_read"] = files
    if readings is not None:
        metadata |= {"readings": readings, "readings_per_second": round(readings / took)}
    if size is not None:
        metadata |= {"bytes_read": size, "megabytes_per_second": round(size / took / 1e6, 3)}
    return metadata


def rows_shown(name: str, rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Metadata with these rows as a table; nothing at all when there are none (Dagster refuses that)."""
    records = [dg.TableRecord(dict(row)) for row in rows]
    return {name: dg.MetadataValue.table(records)} if records else {}


def data_version(sha256: str) -> dg.DataVersion:
    """The data version of a table with this hash; a table that was not written has none."""
    return dg.DataVersion(sha256[:32] or "invalid")


def _schema_result(stage: StageResult) -> dg.AssetCheckResult:
    broken = [f"{v.column}: {v.rule} ({v.examples})" for v in stage.violations]
    return dg.AssetCheckResult(
        check_name=SCHEMA_CHECK,
        asset_key=stage.table,
        passed=not broken,
        severity=dg.AssetCheckSeverity.ERROR,
        metadata={"rows": stage.rows, "broken_rules": broken},
    )


def _lineage(name: str) -> dg.TableColumnLineage:
    return dg.TableColumnLineage(
        deps_by_column={
            column: [
                dg.TableColumnDep(asset_key=upstream, column_name=source)
                for upstream, source in sources
            ]
            for column, sources in column_lineage(TABLES[name]).items()
        }
    )
