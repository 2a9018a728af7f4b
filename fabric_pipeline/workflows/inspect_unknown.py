"""What the tables of one inspection leave unknown: blanks, growth that nobody saw, refused lines.

Readers state what a file lacks; here stands what only the readings together show.
"""

from __future__ import annotations

from typing import Any

from fabric_pipeline.model.records import UnknownFact

_BLANKS_SHOWN = 1000  # links that are listed for having counters without a value
_RESET = "reset {}x, first from {:.0f} to {:.0f}: a fall is no error, and what was counted just before it is not known"
_FULL = (
    "saturated: it stands at its ceiling of {:.0f}, so the true number is at least that and no growth can "
    "be seen; clear the counter and measure again"
)
_RESETS_SHOWN = 8  # counters of one node that fell; of more the node is named once
_REFUSED_SHOWN = 20  # refused lines that are listed for one file


def blanks(connection: Any) -> list[UnknownFact]:
    """Counters that a source lists for a link without ever giving a value."""
    rows = connection.execute(
        f"""
        with silent as (
            select node, interface, counter, min(f.file_no) as file_no, min(line) as line
            from link_counters left join drop_files f using (file)
            group by node, interface, counter having count(value) = 0
        )
        select node, interface, string_agg(counter, ', ' order by counter) from silent
        group by node, interface order by min(file_no), min(line), node, interface limit {_BLANKS_SHOWN}
        """
    ).fetchall()
    reason = "the source lists it without a value (N/A, a blank); that is neither zero nor healthy"
    return [UnknownFact(node, interface, counters, reason) for node, interface, counters in rows]


def unseen(connection: Any) -> list[UnknownFact]:
    """Growth that nobody saw: of error counters that fell, and of counters that stand at their ceiling."""
    rows = connection.execute(
        f"""
        with noted as (
            select * from link_counters where quality = 'saturated' or (quality = 'reset' and error_class <> '')
        ), near as (
            select * from link_counters where (node, interface, counter) in (select (node, interface, counter) from noted where quality = 'reset')
        )
        select r.node, r.interface, r.counter, r.quality, count(*), first(p.value order by r.sample),
            first(r.value order by r.sample), min(f.file_no) as file_no, min(r.line) as line
        from noted r join drop_files f using (file) left join near p on p.sample = r.sample - 1 and p.node = r.node
            and p.interface = r.interface and p.counter = r.counter and p.scope = r.scope
            and p.lane is not distinct from r.lane and p.gpu_uuid is not distinct from r.gpu_uuid
        group by r.node, r.interface, r.counter, r.quality
        order by file_no, line, r.node, r.interface, r.counter limit {_BLANKS_SHOWN}
        """
    ).fetchall()
    resets: dict[str, list[tuple[Any, ...]]] = {}
    facts = []
    for row in rows:
        node, interface, counter, quality, count, before, value, *_ = row
        if quality == "saturated":
            facts.append(UnknownFact(node, interface, counter, _FULL.format(value)))
        else:
            said = _RESET.format(count, before or 0, value)
            resets.setdefault(node, []).append((interface, counter, said))
    for node, fallen in resets.items():
        if len(fallen) <= _RESETS_SHOWN:
            facts += [UnknownFact(node, *one) for one in fallen]
        else:  # a driver was loaded again or the node booted: said once, not for each of its counters
            interface, counter, said = fallen[0]
            what = f"{len(fallen)} counters, such as {counter} of {interface}"
            facts.append(UnknownFact(node, "", what, said))
    return facts


def refused_lines(connection: Any) -> dict[str, list[str]]:
    """A few refused lines per file with their rules, so that nothing is lost silently."""
    rows = connection.execute(
        f"""
        select file, line, rule, left(entity_text, 120) from quarantined_telemetry
        qualify row_number() over (partition by file order by entry) <= {_REFUSED_SHOWN} order by entry
        """
    ).fetchall()
    shown: dict[str, list[str]] = {}
    for file, line, rule, text in rows:
        where = "" if line is None else f"line {line}: "
        shown.setdefault(file, []).append(where + rule + (f" [{text}]" if text else ""))
    return shown
