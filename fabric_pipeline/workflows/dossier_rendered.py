"""The files of a dossier that follow from its other files, so that checking one is writing it again.

Figures, queries, picture, README, ticket, sheet and the request to a vendor are made here for a
build and for a check alike. What they follow from is put into a dossier by `dossier_build`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.workflows.dossier_excerpts import MAX_LINES
from fabric_pipeline.workflows.dossier_figure import figure
from fabric_pipeline.workflows.dossier_ledger import LedgerFacts
from fabric_pipeline.workflows.dossier_readme import readme
from fabric_pipeline.workflows.dossier_rows import FORMULA_STARTS, RowSet, queries_text
from fabric_pipeline.workflows.dossier_ticket import draft_of, draft_row, sheet_text, ticket_texts
from fabric_pipeline.workflows.dossier_vendor import vendor_texts


def rendered(
    connection: Any,
    record: IncidentRecord,
    rows: Sequence[RowSet],
    facts: LedgerFacts,
    not_whole: str,
) -> dict[str, str]:
    """File name inside `data/` -> text; needs the rows as `picked_<table>` in the connection.

    `not_whole` says why the dossier does not hold the whole drop, "" when it does.
    """
    texts = ticket_texts(facts)
    row = draft_row(facts)
    draft = draft_of(row) if row is not None else None
    if row is not None and draft is not None:
        texts["ticket_sheet.html"] = sheet_text(facts, row, draft)
        texts |= vendor_texts(record, draft, row, facts)
    texts["figures.csv"] = _figures(record)
    texts["queries.sql"] = queries_text(list(rows))
    texts["figure.svg"] = figure(connection, record)
    names = sorted({name.partition("/")[0] for name in texts})
    texts["README.txt"] = readme(record, rows, MAX_LINES, names, not_whole)
    return texts


def _figures(record: IncidentRecord) -> str:
    """Every number of the reasoning with the query that returns exactly it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("name", "value", "unit", "says", "query"))
    for one in record.figures:
        cells = (one.name, repr(one.value), one.unit, one.says, one.query)
        writer.writerow(
            cell if number == 1 else _guarded(cell) for number, cell in enumerate(cells)
        )
    return out.getvalue()


def _guarded(text: str) -> str:
    """A text cell that no spreadsheet runs as a formula, as in the other CSV files."""
    return f"'{text}" if text[:1] and text[0] in FORMULA_STARTS else text
