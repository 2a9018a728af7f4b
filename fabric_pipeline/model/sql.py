"""Values written out in SQL text, for queries that are kept in records and run again as they stand.

Queries that the pipeline runs itself bind their values instead; nothing here opens a database.
"""

from __future__ import annotations


def sql_text(text: str) -> str:
    """A text as an SQL expression on one line; characters that are not printable become chr(n)."""
    if text.isprintable():
        return _literal(text)
    parts = (_literal(ch) if ch.isprintable() else f"chr({ord(ch)})" for ch in text)
    return f"({' || '.join(parts)})"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
