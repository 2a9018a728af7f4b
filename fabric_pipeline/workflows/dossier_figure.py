"""The picture of a dossier: errors of the link over time under the slow intervals of the runs.

Plain SVG text from rows that are picked already. Nothing is judged and nothing is smoothed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Any

from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.model.components import component_id, parse_component
from fabric_pipeline.workflows.dossier_bag import shown
from fabric_pipeline.workflows.dossier_rows import picked

WIDTH, HEIGHT = 960, 340
_LEFT, _RIGHT, _TOP, _FLOOR, _RUN_HEIGHT = 80, 940, 110, 300, 10
_BARS = 240  # bars at most: so many can be told apart at this width
_MAX_RUNS = 4  # rows of slow intervals above the bars

# Errors per sample of the blamed end, else of the end that counted most; ends are never added up.
_ERRORS_SQL = f"""
with counted as (
    select node, interface, ts, sum(delta) as errors from {picked("link_counters")}
    where delta > 0 and ts is not null and error_class <> '' group by node, interface, ts
), shown as (
    select node, interface from counted group by node, interface
    order by (node = $node and interface = $interface) desc, sum(errors) desc, node, interface limit 1
)
select c.node, c.interface, c.ts, c.errors from counted c join shown using (node, interface) order by c.ts
"""
_WINDOW_SQL = f"""
select min(ts), max(ts) from (select ts from {picked("link_counters")} where ts is not null union all
    select start_ts from {picked("stragglers")} union all select end_ts from {picked("stragglers")})
"""
_SLOW_SQL = f"""
select run, start_ts, end_ts from {picked("stragglers")}
where start_ts is not null and end_ts is not null order by run, start_ts, end_ts
"""


_Period = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class _Axis:
    start: datetime
    seconds: float

    def x(self, time: datetime) -> float:
        share = (time - self.start).total_seconds() / self.seconds
        return _LEFT + min(max(share, 0.0), 1.0) * (_RIGHT - _LEFT)


def figure(connection: Any, record: IncidentRecord) -> str:
    """The SVG text. Without times it says so instead of drawing an axis that nobody measured."""
    start, end = connection.execute(_WINDOW_SQL).fetchone()
    title = f"{record.incident_id}: {record.isolated_component}"
    if start is None or end <= start:
        body = [
            _text(_LEFT, 150, "The readings behind this incident carry no times: no time axis.")
        ]
        return _svg(title, body)
    axis = _Axis(start, (end - start).total_seconds())
    body = [*_slow(connection.execute(_SLOW_SQL).fetchall(), axis)]
    blamed = parse_component(record.isolated_component)
    end_of_link = {"node": blamed.node, "interface": blamed.interface}
    body += _errors(connection.execute(_ERRORS_SQL, end_of_link).fetchall(), axis)
    body.append(f'<path d="M{_LEFT} {_FLOOR}H{_RIGHT}" stroke="#333"/>')
    for time, anchor in ((start, "start"), (end, "end")):
        x = _LEFT if anchor == "start" else _RIGHT
        body.append(_text(x, _FLOOR + 22, time.strftime("%Y-%m-%d %H:%M:%S UTC"), anchor))
    return _svg(title, body)


def _slow(rows: Sequence[tuple[str, datetime, datetime]], axis: _Axis) -> list[str]:
    runs = list(dict.fromkeys(run for run, _, _ in rows))
    if not runs:
        return [_text(_LEFT, 60, "No slow interval of a run belongs to this incident.")]
    parts = [
        _band(axis, period, _TOP, _FLOOR - _TOP, 0.15)
        for period in _joined([row[1:] for row in rows])
    ]
    for place, run in enumerate(runs[:_MAX_RUNS]):
        y = 50 + place * (_RUN_HEIGHT + 4)
        parts.append(_text(_LEFT - 6, y + 9, _short(run, 11), "end", run))
        periods = _joined([row[1:] for row in rows if row[0] == run])
        parts += [_band(axis, period, y, _RUN_HEIGHT, 1) for period in periods]
    left_out = f"; {len(runs) - _MAX_RUNS} more runs not drawn" if len(runs) > _MAX_RUNS else ""
    return [_text(_LEFT, 42, f"slow intervals of the affected runs{left_out}"), *parts]


def _joined(periods: Sequence[_Period]) -> list[_Period]:
    """Overlapping periods (of several groups of ranks) as one."""
    joined: list[_Period] = []
    for start, end in sorted(periods):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def _band(axis: _Axis, period: _Period, y: float, height: float, opacity: float) -> str:
    left, right = (axis.x(time) for time in period)
    return (
        f'<rect x="{left:.1f}" y="{y:g}" width="{max(right - left, 1):.1f}" height="{height:g}" '
        f'fill="#e0a030" opacity="{opacity:g}"/>'
    )


def _errors(rows: Sequence[tuple[str, str, datetime, float]], axis: _Axis) -> list[str]:
    if not rows:
        return [_text(_LEFT, 150, "No error increments with times at this link.")]
    bars: dict[int, float] = {}
    step = (_RIGHT - _LEFT) / _BARS
    for _, _, time, errors in rows:
        # The time of a sample ends the interval it counts: its bar ends there too.
        place = min(int(max(axis.x(time) - _LEFT - 1e-6, 0) / step), _BARS - 1)
        bars[place] = bars.get(place, 0.0) + errors
    top = max(bars.values())
    drawn = "".join(
        f"M{_LEFT + place * step:.1f} {_FLOOR}h{step:.1f}v{-(_FLOOR - _TOP) * count / top:.1f}h{-step:.1f}z"
        for place, count in sorted(bars.items())
    )
    node, interface = rows[0][:2]
    end = _short(component_id(node, interface), 70)
    return [
        f'<path d="{drawn}" fill="#b03030"/>',
        _text(_LEFT, _TOP - 4, f"errors counted at {end} (all classes; bars of {_BARS} equal parts)"),
        _text(_LEFT - 6, _TOP + 10, f"{top:g}", "end"),
        _text(_LEFT - 6, _FLOOR, "0", "end"),
    ]  # fmt: skip


def _svg(title: str, body: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'font-family="sans-serif" font-size="12">\n'
        f"<title>{_safe(title)}</title>\n"
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>\n'
        f"{_text(_LEFT, 22, _short(title, 110))}\n" + "\n".join(body) + "\n</svg>\n"
    )


def _text(x: float, y: float, text: str, anchor: str = "start", tip: str = "") -> str:
    hint = f"<title>{_safe(tip)}</title>" if tip else ""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}">{hint}{_safe(text)}</text>'


def _safe(text: str) -> str:
    """Text from telemetry as SVG text: spelt out where unprintable, then escaped."""
    return escape(shown(text))


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
