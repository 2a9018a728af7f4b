"""The description of one table: columns, types, rules, in one value from which all views are made."""

from __future__ import annotations

from dataclasses import dataclass

TIMESTAMP = "TIMESTAMP WITH TIME ZONE"


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `allowed`, `minimum`, `maximum` and `pattern` are rules that validation enforces."""

    name: str
    type: str
    description: str
    nullable: bool = False
    allowed: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    pattern: str = ""

    def rules(self) -> tuple[str, ...]:
        """The rules in words, for people and for the Dagster UI."""
        said = [] if self.nullable else ["never empty"]
        if self.allowed:
            said.append("one of " + ", ".join(self.allowed))
        if self.minimum is not None:
            said.append(f"at least {self.minimum:g}")
        if self.maximum is not None:
            said.append(f"at most {self.maximum:g}")
        if self.pattern:
            said.append(f"matches {self.pattern}")
        if self.type == "DOUBLE":
            said.append("finite")
        return tuple(said)


@dataclass(frozen=True, slots=True)
class Table:
    """One table. `upstream` are the tables it is computed from; `group` its place in the lineage.

    `is_bulk`: grows with telemetry, so the audit file views it instead of copying it.
    """

    name: str
    group: str
    grain: str
    description: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    upstream: tuple[str, ...] = ()
    is_bulk: bool = False

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names in order."""
        return tuple(column.name for column in self.columns)

    def empty_sql(self) -> str:
        """A SELECT that yields no row and all columns with their types."""
        parts = ", ".join(f'null::{column.type} as "{column.name}"' for column in self.columns)
        return f"select {parts} where false"

    def cast_sql(self, relation: str) -> str:
        """A SELECT of exactly these columns from a relation, cast to their types."""
        parts = ", ".join(
            f'"{column.name}"::{column.type} as "{column.name}"' for column in self.columns
        )
        return f"select {parts} from {relation}"

    def coded_sql(self, relation: str) -> str:
        """As `cast_sql`, but texts stay as they come, so that codes (ENUM) go into a file as codes.

        Parquet gives them back as texts; only a file is written from this.
        """
        parts = ", ".join(
            f'"{column.name}"'
            if column.type == "VARCHAR"
            else f'"{column.name}"::{column.type} as "{column.name}"'
            for column in self.columns
        )
        return f"select {parts} from {relation}"


def text(name: str, description: str, **rules: object) -> Column:
    """A text column; never NULL unless said (empty text = not stated)."""
    return Column(name, "VARCHAR", description, **rules)  # type: ignore[arg-type]


def number(name: str, description: str, **rules: object) -> Column:
    """A floating-point column."""
    return Column(name, "DOUBLE", description, **rules)  # type: ignore[arg-type]


def whole(name: str, description: str, **rules: object) -> Column:
    """A whole-number column (64 bit)."""
    return Column(name, "BIGINT", description, **rules)  # type: ignore[arg-type]


def time(name: str, description: str, **rules: object) -> Column:
    """A UTC time column."""
    return Column(name, TIMESTAMP, description, **rules)  # type: ignore[arg-type]


DROP = text("drop", "Id of the drop", pattern="^[a-z0-9][a-z0-9._-]*$")
FILE = text("file", "Path of the source file inside the drop")
FILE_SHA256 = text("file_sha256", "SHA-256 of the whole source file", pattern="^([0-9a-f]{64})?$")
LINE = whole(
    "line",
    "Line (or Parquet row) from 1; empty where the format has no lines",
    nullable=True,
    minimum=1,
)
ENTRY = whole("entry", "Number of the row in the order of reading, from 1", minimum=1)
LAST_LINE = whole("last_line", "Last line of the evidence", nullable=True, minimum=1)
NODE = text("node", "Host name; empty when no file states it")
INTERFACE = text("interface", "Link end in the component grammar, such as gpu5/nvlink-11")
LINK_TYPE = text(
    "link_type", "Kind of link", allowed=("", "nvlink", "pcie", "infiniband", "roce", "ethernet")
)
LANE = whole("lane", "Lane of the link where the source counts per lane", nullable=True, minimum=0)
TS = time("ts", "Time of the reading in UTC; empty when the capture carries none", nullable=True)
EVIDENCE = (FILE, FILE_SHA256, LINE)
