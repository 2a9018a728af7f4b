"""Names for shell completion, read in milliseconds: drops, incidents, tickets, racks, nodes, link ends.

Nothing here is judged or opened for writing except a cache of names beside the lake's tables; DuckDB is
imported only when that cache is old. Names that a shell would have to quote are left out.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

# What completes without quotes in every shell; a hostile name must not reach its command line.
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,199}")
_TABLES = ("fabric_topology", "link_counters")
_MOST = 2_000
_BUSY_S = 0.2

_INCIDENTS = """
select incident_id, max(json_extract(json, '$.severity')) from incident_observations
where found = 1 group by incident_id order by max(seq) desc limit 2000
"""
_TICKETS = (
    "select ticket_id, drop_id from current_drafts where not retired order by seq desc limit 2000"
)
_NAMES = """
with ends as (
    select node, interface from fabric_topology where kind = 'link'
    union select far_node, far_interface from fabric_topology where kind = 'link'
    union select node, interface from link_counters where scope in ('link', 'lane')
)
select 'rack' as kind, rack as name from fabric_topology where kind in ('node', 'switch') and rack <> ''
union select 'node', node from fabric_topology where kind = 'node' and node <> ''
union select 'node', node from link_counters where node <> ''
union select 'link', case when node = '' then interface else node || ':' || interface end from ends where interface <> ''
order by 1, 2
"""


def drop_ids(lake: Path) -> list[str]:
    """Drops that can be drawn, the one read last first."""
    found: dict[str, int] = {}
    for part in _parts(lake):
        name = part.parent.name.removeprefix("drop=")
        found[name] = max(found.get(name, 0), part.stat().st_mtime_ns)
    return [name for name in sorted(found, key=lambda name: -found[name]) if _PLAIN.fullmatch(name)]


def incident_ids(ledger: Path) -> list[tuple[str, str]]:
    """Incidents with their severity, the ones seen last first."""
    return _asked(ledger, _INCIDENTS)


def ticket_ids(ledger: Path) -> list[tuple[str, str]]:
    """Current tickets with their drop, the ones drafted last first."""
    return _asked(ledger, _TICKETS)


def fabric_names(lake: Path, drop: str, kind: str, start: str) -> list[str]:
    """Names of one kind (`rack`, `node`, `link`) that begin so, in order, not more than 2,000.

    Written once for each reading of a drop; later calls only search the file.
    """
    text = _cached(lake, drop)
    found: list[str] = []
    at = text.find(f"\n{kind}\t{start}")
    while at >= 0 and len(found) < _MOST:
        end = text.find("\n", at + 1)
        line = text[at + 1 : end]
        if not line.startswith(f"{kind}\t{start}"):
            break
        found.append(line.partition("\t")[2])
        at = end if end < len(text) - 1 else -1
    return found


def _parts(lake: Path) -> Iterator[Path]:
    for table in _TABLES:
        yield from (lake / table).glob("drop=*/part.parquet")


def _asked(ledger: Path, sql: str) -> list[tuple[str, str]]:
    if not ledger.is_file():
        return []
    with closing(sqlite3.connect(f"{ledger.as_uri()}?mode=ro", uri=True, timeout=_BUSY_S)) as con:
        rows = con.execute(sql).fetchall()
    return [(str(name), str(more or "")) for name, more in rows if _PLAIN.fullmatch(str(name))]


def _cached(lake: Path, drop: str) -> str:
    """Lines `kind, tab, name` after a first line that says for which tables they hold."""
    parts = {
        part.parent.parent.name: part for part in _parts(lake) if part.parent.name == f"drop={drop}"
    }
    if not parts:
        return ""
    stamp = " ".join(f"{name}={part.stat().st_mtime_ns}" for name, part in sorted(parts.items()))
    path = lake.parent / "cache" / "names" / f"{drop}.txt"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        text = ""
    if text.partition("\n")[0] != stamp:
        text = f"{stamp}\n{_read(parts)}"
        _keep(path, text)
    return text


def _read(parts: dict[str, Path]) -> str:
    from fabric_pipeline.schemas.registry import TABLES
    from fabric_pipeline.store.duck import connect, literal

    con = connect()
    try:
        for name in _TABLES:
            rows = f"select * from read_parquet({literal(str(parts[name]))})" if name in parts else TABLES[name].empty_sql()  # fmt: skip
            con.execute(f"create temp view {name} as {rows}")
        named = con.execute(_NAMES).fetchall()
    finally:
        con.close()
    return "".join(f"{kind}\t{name}\n" for kind, name in named if _PLAIN.fullmatch(str(name)))


def _keep(path: Path, text: str) -> None:
    """Write beside and rename; a home that cannot be written is asked again each time."""
    temporary = path.with_name(f".{uuid4().hex}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
