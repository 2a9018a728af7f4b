"""Rows of the ledger for a home with a long history, made from those of one real drop.

Every row is that of the template with other names, links, serials and days; links of the chain are made by
the rule of `ledger_chain`. The lake of such a home is made in `long_home`.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.incidents.ticket import content_sha256
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.store.ledger_chain import GENESIS
from fabric_pipeline.store.ledger_file import utc_text
from fabric_pipeline.workflows.drop_stages import load_incidents
from fabric_pipeline.workflows.followed_links import FOLLOW

AT = datetime(2026, 11, 21, 6, tzinfo=UTC)
CHECKED_DAYS = 30


@dataclass(frozen=True, slots=True)
class OldDrop:
    """One drop of the past: its id, its cluster by number, and when it was measured."""

    drop: str
    cluster: int
    day: int
    start: datetime


@dataclass(frozen=True, slots=True)
class OldIncident:
    """One incident of the past and the drops that show it."""

    number: int
    incident_id: str
    component: str
    accuses: bool
    seen_in: Sequence[OldDrop]


def cluster_name(number: int) -> str:
    """The first cluster is that of the new drop, so that its past speaks about it."""
    return "larch" if number == 0 else f"pod-{number:03d}"


class Rows:
    """Rows of the ledger, made from those of the template by replacing what differs."""

    def __init__(self, template: Settings, name: str) -> None:
        records = load_incidents(template, name)
        record = next(one for one in records if one.needs_ticket)
        self._accusing = record
        self._watching = next(one for one in records if not one.needs_ticket)
        self._texts = {one.incident_id: one.model_dump_json() for one in records}
        draft = next(
            one
            for one in Ledger(template.ledger).drafts_of_drop(name)
            if one.incident_id == record.incident_id
        )
        with closing(sqlite3.connect(template.ledger)) as con:
            con.row_factory = sqlite3.Row
            self._draft = dict(
                con.execute(
                    "SELECT * FROM drafts WHERE ticket_id = ?", [draft.ticket_id]
                ).fetchone()
            )
            check = con.execute("SELECT * FROM link_checks LIMIT 1").fetchone()
            self._check = dict(check)
        facts = json.loads(self._check["facts"])
        self._facts = json.dumps(facts | {"is_accused": False}, sort_keys=True)
        self._name = name

    def fill(
        self, settings: Settings, past: Sequence[OldDrop], incidents: Sequence[OldIncident]
    ) -> None:
        """Write all of them in the order in which runs would have."""
        Ledger(settings.ledger)
        with closing(sqlite3.connect(settings.ledger, isolation_level=None)) as con:
            con.execute("PRAGMA synchronous = OFF")
            con.execute("BEGIN")
            self._drops(con, settings, past)
            chain = _Chain(con)
            self._observations(con, past, incidents)
            accused = [one for one in incidents if one.accuses]
            self._drafts(con, chain, accused)
            self._checks(con, chain, past, accused)
            chain.write()
            con.execute("COMMIT")
            con.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _drops(self, con: sqlite3.Connection, settings: Settings, past: Sequence[OldDrop]) -> None:
        rows: list[tuple[str, ...]] = [
            (
                one.drop, one.drop, str(settings.inbox / one.drop), _sha(one.drop), _at(one), _at(one), _sha(one.drop),
            )
            for one in past
        ]  # fmt: skip
        con.executemany("INSERT INTO drops VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        reads = ((row[0], row[2], row[3], row[4]) for row in rows)
        con.executemany(
            "INSERT INTO drop_reads (drop_id, path, content_sha256, state, at) "
            "VALUES (?, ?, ?, 'new', ?)",
            reads,
        )
        found = ((one.drop, 10, _at(one)) for one in past)
        con.executemany("INSERT INTO diagnoses (drop_id, incidents, at) VALUES (?, ?, ?)", found)
        con.executemany("INSERT INTO drop_spans VALUES (?, ?, ?, ?)", map(_span, past))

    def _observations(
        self, con: sqlite3.Connection, past: Sequence[OldDrop], incidents: Sequence[OldIncident]
    ) -> None:
        by_drop: dict[str, list[OldIncident]] = {}
        for one in incidents:
            for drop in one.seen_in:
                by_drop.setdefault(drop.drop, []).append(one)
        rows = (self._observation(drop, one) for drop in past for one in by_drop.get(drop.drop, []))
        con.executemany(
            "INSERT INTO incident_observations (incident_id, drop_id, found, component, gpu_serial, "
            "needs_ticket, evidence_sha256, json, at) VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?)",
            rows,
        )

    def _observation(self, drop: OldDrop, one: OldIncident) -> tuple[Any, ...]:
        text = self._worded(self._accusing if one.accuses else self._watching, drop, one)
        serial, evidence = f"SN-{one.number}", _sha(f"{one.number} {drop.drop}")
        return (
            one.incident_id, drop.drop, one.component, serial, int(one.accuses), evidence, text, _at(drop),
        )  # fmt: skip

    def _worded(self, record: IncidentRecord, drop: OldDrop, one: OldIncident) -> str:
        text = self._texts[record.incident_id]
        for old, new in (
            (record.incident_id, one.incident_id),
            (f'"drop":"{self._name}"', f'"drop":"{drop.drop}"'),
            (f'"isolated_component":"{record.isolated_component}"', f'"isolated_component":"{one.component}"'),
            (f'"far_end":"{record.far_end}"', '"far_end":""'),
            ("2026-11-20T", f"{drop.start:%Y-%m-%d}T"),
            (f'"{record.place.gpu_serial}"', f'"SN-{one.number}"'),
        ):  # fmt: skip
            text = text.replace(old, new)
        return text

    def _drafts(
        self, con: sqlite3.Connection, chain: _Chain, accused: Sequence[OldIncident]
    ) -> None:
        """A ticket for each; one in fifty waits for a person, the others are rejected."""
        body = json.loads(self._draft["json"])
        settled = ((one.incident_id, utc_text(_settled_from(one))) for one in accused)
        con.executemany(
            "INSERT INTO settled_incidents VALUES (?, ?)",
            [(name, at) for name, at in settled if at < utc_text(AT)],
        )
        for seq, one in enumerate(accused, start=1):
            at, ticket = _at(one.seen_in[0]), f"T-{one.incident_id.removeprefix('INC-')}"
            text = json.dumps(body | {"ticket_id": ticket, "incident_id": one.incident_id})
            known = {"ticket_id": ticket, "revision": 1, "draft_sha256": _draft_sha(text)}
            row = self._draft | known | {"seq": seq, "json": text, "at": at}
            row |= {"drop_id": one.seen_in[0].drop, "incident_id": one.incident_id}
            _insert(con, "drafts", row)
            chain.add("draft", row)
            if one.number % 50 == 0:
                continue  # waits for a person
            review = {
                "seq": chain.next_of("review"), **known, "decision": "rejected", "reviewer": "reviewer-1",
                "reason": "not needed", "at": at,
            }  # fmt: skip
            _insert(con, "reviews", review)
            chain.add("review", review)

    def _checks(
        self,
        con: sqlite3.Connection,
        chain: _Chain,
        past: Sequence[OldDrop],
        accused: Sequence[OldIncident],
    ) -> None:
        """Each accused link, looked at in the drops of its cluster over the days that follow."""
        by_place = {(one.cluster, one.day): one for one in past}
        names = (
            "seq", "incident_id", "drop_id", "component", "verdict", "window_start", "window_end", "measured_s", "facts", "at",
        )  # fmt: skip

        def rows() -> Iterator[tuple[Any, ...]]:
            for one in accused:
                first = one.seen_in[0]
                for day in range(first.day, max(first.day - CHECKED_DAYS, 0), -1):
                    drop = by_place[first.cluster, day]
                    seq = chain.next_of("link_check")
                    start, end = utc_text(drop.start), utc_text(drop.start + timedelta(hours=1))
                    row = (
                        seq, one.incident_id, drop.drop, one.component, "clean", start, end, 3000.0, self._facts, _at(drop),
                    )  # fmt: skip
                    chain.add("link_check", dict(zip(names, row, strict=True)))
                    yield row

        con.executemany("INSERT INTO link_checks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows())


class _Chain:
    """Links in memory until all rows are there, by the rule of `ledger_chain`."""

    def __init__(self, con: sqlite3.Connection) -> None:
        self._con = con
        self._links: list[tuple[int, str, int, str, str, str]] = []
        self._head = GENESIS
        self._last: dict[str, int] = {}

    def next_of(self, kind: str) -> int:
        """Number of the next row of this kind."""
        return self._last.get(kind, 0) + 1

    def add(self, kind: str, row: dict[str, Any]) -> None:
        """One more link over the row."""
        self._last[kind] = row["seq"]
        seq = len(self._links) + 1
        text = json.dumps(row, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        payload = hashlib.sha256(text.encode()).hexdigest()
        joined = f"{seq}\n{kind}\n{row['seq']}\n{payload}\n{self._head}"
        head = hashlib.sha256(joined.encode()).hexdigest()
        self._links.append((seq, kind, row["seq"], payload, self._head, head))
        self._head = head

    def write(self) -> None:
        """All links at once; the rule that the chain grows at its end would be asked a million times."""
        with _without_rules(self._con, "chain"):
            self._con.executemany("INSERT INTO chain VALUES (?, ?, ?, ?, ?, ?)", self._links)


class _without_rules:  # noqa: N801 - reads as a word in a with statement
    """Takes the insert triggers of a table away while known rows are written, and puts them back."""

    def __init__(self, con: sqlite3.Connection, table: str) -> None:
        self._con = con
        self._rules = con.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ? "
            "AND sql LIKE '% BEFORE INSERT %'",
            [table],
        ).fetchall()

    def __enter__(self) -> None:
        for name, _ in self._rules:
            self._con.execute(f"DROP TRIGGER {name}")

    def __exit__(self, *_: object) -> None:
        for _, sql in self._rules:
            self._con.execute(sql)


def _insert(con: sqlite3.Connection, table: str, row: dict[str, Any]) -> None:
    names = ", ".join(row)
    marks = ", ".join("?" * len(row))
    con.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values()))


def _settled_from(one: OldIncident) -> datetime:
    """Clean the day after it was seen last, and followed from then on."""
    return one.seen_in[-1].start + timedelta(days=1) + FOLLOW


def _draft_sha(text: str) -> str:
    return content_sha256(json.loads(text))


def _span(one: OldDrop) -> tuple[str, str, str, str]:
    start, end = utc_text(one.start), utc_text(one.start + timedelta(hours=1))
    return one.drop, cluster_name(one.cluster), start, end


def _at(one: OldDrop) -> str:
    return utc_text(one.start + timedelta(hours=2))


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
