"""One incident in full, as its page has it: impact, reasoning, figures, evidence, what else was weighed.

Pure: values in, lines out. Every sentence and figure is from the record; a figure can stand beside what
its query gives when asked again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fabric_pipeline.cli.fabric_style import COLOURS, MUTED, TITLE, Glyphs, figure, word
from fabric_pipeline.cli.text_layout import Lines, after, bullets, packed, table, text, wrapped
from fabric_pipeline.incidents.record import Place
from fabric_pipeline.workflows.incident_list import GRADES, STATES
from fabric_pipeline.workflows.incident_view import IncidentView, Ran
from fabric_pipeline.workflows.incident_words import NO_DATA, confidence_words, time_lost
from fabric_pipeline.workflows.link_view import where_words


class IncidentCard:
    """Writes the sections of one incident."""

    def __init__(self, view: IncidentView, life: Sequence[str], signs: Glyphs, width: int) -> None:
        """`life` are the lines of `workflows.lifecycle.life_lines`."""
        self._view = view
        self._record = view.record
        self._life = life
        self._signs = signs
        self._width = width

    def lines(self, ran: Sequence[Ran] = (), *, full: bool = False) -> Lines:
        """The whole card; `full` quotes the evidence and prints the queries."""
        record = self._record
        sections = (
            ("Ends", self._ends()),
            ("Reasoning", self._listed(record.reasoning)),
            ("Figures", self._figures(ran, full=full)),
            ("Other explanations, and why they were set aside",
             self._listed(f"{one.explanation}: {one.why_set_aside}" for one in record.alternatives)),
            ("What would change the verdict", self._listed(record.would_change_the_verdict)),
            ("Follows from it", self._listed(f"{one.component}: {one.reason}" for one in record.symptoms)),
            ("Evidence", self._evidence(full=full)),
            ("Over all drops", self._history()),
        )  # fmt: skip
        lines = self._heading()
        for title, body in sections:
            if body:
                lines += [text(), text((title, TITLE)), *body]
        return lines

    def _heading(self) -> Lines:
        record, signs = self._record, self._signs
        state = "no_data" if record.fault_type == "no_data" else STATES[record.severity]
        sign = signs.states.get(state, "-")
        shown = word(state).upper() if state == "no_data" else record.severity
        head = text(
            (f"{sign} {shown}", COLOURS.get(state, MUTED)), "  ", (record.incident_id, TITLE), "  "
        )
        kind = f", {record.error_class.replace('_', ' ')} ({record.class_basis or 'basis not stated'})" if record.error_class else ""  # fmt: skip
        lines = after(
            head, signs.name(record.fault_type.replace("_", " ") + kind, 120), self._width
        )
        if not self._view.is_found:
            lines.append(
                text(
                    (
                        f"a later diagnosis of drop {signs.name(record.drop)} no longer finds it",
                        COLOURS["watch"],
                    )
                )
            )
        for line in self._life:
            lines += wrapped(signs.name(line, 400), self._width)
        lines += wrapped(signs.name(record.summary, 600), self._width)
        pieces = [
            text((f"{label} ", MUTED), signs.name(value, 120)) for label, value in self._impact()
        ]
        lines += packed(pieces, self._width)
        return lines + wrapped(
            f"Action by rule, for a person: {signs.name(record.action_text, 400)}", self._width
        )

    def _impact(self) -> list[tuple[str, str]]:
        record, missing = self._record, "not measured"
        slower = missing if record.degradation_pct is None else f"{record.degradation_pct:.1f} %"
        if record.latency_us is not None and record.baseline_us is not None:
            slower += f" ({figure(record.latency_us)} us against {figure(record.baseline_us)} us)"
        lost = time_lost(record.gpu_hours_lost)
        seen = "without times"
        if record.first_seen and record.last_seen:
            seen = f"{record.first_seen:%Y-%m-%d %H:%M} to {record.last_seen:%H:%M} UTC"
        return [
            ("slower", slower),
            ("GPU time lost", lost),
            ("runs", ", ".join(record.affected_runs) or "none known"),
            (
                "confidence",
                confidence_words(record)
                if record.fault_type == NO_DATA
                else f"{record.confidence:.2f}, grade {record.evidence_grade} ({GRADES[record.evidence_grade]})",
            ),
            ("seen", seen),
            ("drop", record.drop),
        ]

    def _ends(self) -> Lines:
        record, signs = self._record, self._signs
        lines: Lines = []
        for joint, name, place in (
            (signs.near, record.isolated_component, record.place),
            (signs.far, record.far_end or "far end not known", record.far_place),
        ):
            lines.append(text("  ", (joint, MUTED), (signs.name(name, 160), TITLE)))
            facts = packed(
                [
                    text((f"{label} ", MUTED), signs.name(value, 120))
                    for label, value in _place(place)
                ],
                self._width - 4,
            )
            lines += [text("    ").append_text(one) for one in facts]
        cable = ", ".join(
            filter(
                None,
                (record.cable_id, record.cable.medium, record.cable.connector, record.cable.serial),
            )
        )
        return [
            *lines,
            *(
                wrapped(f"cable {signs.name(cable, 160)}", self._width, indent="  ")
                if cable
                else []
            ),
        ]

    def _figures(self, ran: Sequence[Ran], *, full: bool) -> Lines:
        again = {one.figure.name: one for one in ran}
        lines: Lines = []
        for one in self._record.figures:
            head = text(
                "  ",
                (self._signs.name(one.name, 60), TITLE),
                f"  {one.value:,.6g} {self._signs.name(one.unit, 40)}  ",
            )
            found = again.get(one.name)
            if found is not None:
                now = found.why if found.value is None else f"{found.value:,.6g}"
                colour = COLOURS["healthy"] if found.verdict == "same" else COLOURS["critical"]
                head.append(f"[asked again: {found.verdict}, {now}]  ", colour)
            lines += after(head, self._signs.name(one.says, 300), self._width, style=MUTED)
            if full:
                lines += wrapped(
                    self._signs.name(one.query, 2_000), self._width, indent="      ", style=MUTED
                )
        return lines

    def _evidence(self, *, full: bool) -> Lines:
        lines: Lines = []
        for one in self._record.evidence:
            last = f" to {one.last_line}" if one.last_line not in (None, one.line) else ""
            where = f"{one.file}{f':{one.line}{last}' if one.line else ''}"
            sha = f"  sha256 {one.sha256 if full else one.sha256[:12]}" if one.sha256 else ""
            head = text(
                "  ",
                (f"{one.evidence_id:<4}", TITLE),
                self._signs.name(where, 200),
                (sha, MUTED),
                "  ",
            )
            lines += after(head, self._signs.name(one.says, 400), self._width, indent="      ")
            if full:
                for row in one.excerpt.splitlines()[:20]:
                    lines += wrapped(
                        self._signs.name(row, 400), self._width, indent="      | ", style=MUTED
                    )
                lines += wrapped(
                    self._signs.name(one.query, 2_000), self._width, indent="      ", style=MUTED
                )
        return lines

    def _history(self) -> Lines:
        rows = [
            (f"{one.at:%Y-%m-%d %H:%M} UTC" if one.at else "no time", one.kind, one.drop, one.says)
            for one in self._view.history
        ]
        cells = [
            [
                text(f"  {self._signs.name(cell, 300)}" if n == 0 else self._signs.name(cell, 300))
                for n, cell in enumerate(row)
            ]
            for row in rows
        ]
        drawn = table(("  when", "what", "drop", ""), cells, self._width)
        if drawn:
            return drawn[1:]
        return bullets(
            (self._signs.name("  ".join(filter(None, row)), 500) for row in rows), self._width
        )

    def _listed(self, sentences: Iterable[str]) -> Lines:
        return bullets((self._signs.name(one, 800) for one in sentences), self._width)


def _place(place: Place) -> list[tuple[str, str]]:
    pairs = [
        ("place", ", ".join(where_words(place))),
        ("port label", place.port_label),
        ("slot", place.gpu_slot or place.slot),
        ("GPU serial", place.gpu_serial),
        ("adapter serial", place.nic_serial),
        ("serial of the box", place.node_serial),
    ]
    return [(label, value) for label, value in pairs if value] or [
        ("place", "no topology names it")
    ]
