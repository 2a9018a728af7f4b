"""One link in full, as the page of a link has it: both ends, counters beside limits, coincidence, why.

Pure: a `LinkView` with its series in, lines out. The sentences are those of the portal's link page
(`portal.link_words`), so that both say the same of one link.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.text import Text

from fabric_pipeline.cli.clock_chart import clock_lines
from fabric_pipeline.cli.fabric_style import COLOURS, MUTED, TITLE, Glyphs, figure, share_text, word
from fabric_pipeline.cli.text_layout import Lines, after, bullets, packed, text, wrapped
from fabric_pipeline.workflows import link_words
from fabric_pipeline.workflows.fabric_series import FabricSeries
from fabric_pipeline.workflows.link_view_model import (
    LOWER_BOUND,
    BitSplit,
    Coincidence,
    Count,
    CountPair,
    LinkEnd,
    LinkView,
)

_UNIT = {"per hour": "/h", "in total": "", "per bit": " per bit"}
_MOST_COUNTERS = 8
_BAR = 24


class LinkCard:
    """Writes the sections of one link."""

    def __init__(self, view: LinkView, signs: Glyphs, width: int) -> None:
        """`width` is that of the lists: of the terminal, or endless for a pipe."""
        self._view = view
        self._signs = signs
        self._width = width

    def heading(self) -> Lines:
        """State, what it is, its incident and ticket, and the one sentence that matters."""
        view, signs = self._view, self._signs
        state = view.link.state
        sign = (f"{signs.states[state]} {word(state).upper()}", COLOURS[state])
        title = text(sign, "  ", (signs.name(link_words.link_title(view), 160), TITLE))
        facts = [
            text(signs.name(view.component, 200)),
            text("drop ", (signs.name(view.drop), TITLE)),
        ]
        incident = view.incident
        if incident is not None:
            life = f" {incident.life.state}" if incident.life else ""
            facts.append(text((incident.record.incident_id, TITLE), life))
            if incident.ticket is not None:
                facts.append(text((incident.ticket.ticket_id, TITLE), f" {incident.ticket.state}"))
        lines = [*self._cut(title), *packed(facts, self._width)]
        lines += self._said([self._summary()])
        lines += self._said(link_words.degraded_states(view), COLOURS["warning"])
        return lines + self._said(view.notes, COLOURS["watch"])

    def ends(self) -> Lines:
        """Both ends below each other: where they are, what is there, what was last read."""
        lines: Lines = [text(("Link ends", TITLE))]
        joints = (self._signs.near, self._signs.far) if len(self._view.ends) > 1 else ("  ",)
        for end, joint in zip(self._view.ends, joints, strict=True):
            state = end.end.reading.state
            mark = (f"{self._signs.states[state]} {word(state)}", COLOURS[state])
            head = text(
                "  ", (joint, MUTED), (self._signs.name(end.end.name, 160), TITLE), "  ", mark
            )
            lines += [head, *self._facts(_end_facts(end))]
        if len(self._view.ends) == 1:
            lines += self._said(
                ["The far end is not named by any source of this drop."], indent="    "
            )
        facts = link_words.link_facts(self._view)
        if facts:
            lines += [text(("Link and cable", TITLE)), *self._facts(facts)]
        return lines

    def counters(self, *, everything: bool = False) -> Lines:
        """Counters at both ends beside their limits, those with errors first."""
        pairs = self._view.counts
        counted = [pair for pair in pairs if pair.has_errors]
        shown = list(pairs) if everything else counted[:_MOST_COUNTERS]
        lines: Lines = [text(("Counters beside their limits", TITLE))]
        if not shown:
            said = (
                "No counter counted an error."
                if pairs
                else "No error counter of this link was read."
            )
            lines += self._said([said], indent="  ")
        for pair in shown:
            lines += self._counter(pair)
        rest = [pair for pair in pairs if pair not in shown]
        if rest:
            zero = sum(all(one.events == 0 for one in pair.counts) for pair in rest)
            silent = sum(all(one.events is None for one in pair.counts) for pair in rest)
            said = f"{len(rest)} more: {zero} at zero, {silent} without data {self._signs.states['no_data']}: --all"
            lines += self._said([said], MUTED, indent="  ")
        worse = pairs[0].worse if pairs else None
        if worse is not None and worse.siblings_median is not None and worse.events:
            said = f"Like links beside it counted {figure(worse.siblings_median)} {worse.counter} in the median, this one {figure(worse.events)}."
            lines += self._said([said], indent="  ")
        return lines + self._bits(self._view.bits)

    def coincidence(self) -> Lines:
        """How its errors and the slow time of runs go together, against chance."""
        lines: Lines = [text(("Coincidence with slow runs", TITLE))]
        for one in self._view.coincidences:
            lines += self._weighing(one)
        if len(lines) == 1:
            why = (
                "nothing was measured on it"
                if self._view.link.state == "no_data"
                else "it has none with times, or no run was slow"
            )
            lines += self._said(
                [f"No run was compared with the errors of this link: {why}."], indent="  "
            )
        return lines

    def alternatives(self) -> Lines:
        """What else was weighed, and what only follows from this fault."""
        incident = self._view.incident
        if incident is None:
            return []
        record = incident.record
        lines = []
        if record.alternatives:
            lines.append(text(("Other explanations, and why they were set aside", TITLE)))
            lines += self._listed(
                f"{one.explanation}: {one.why_set_aside}" for one in record.alternatives
            )
        if record.symptoms:
            lines.append(text(("Follows from it", TITLE)))
            lines += self._listed(f"{one.component}: {one.reason}" for one in record.symptoms)
        return lines

    def _summary(self) -> str:
        view = self._view
        if view.incident is not None:
            return view.incident.record.summary
        if view.link.state == "healthy":
            both = (
                all(end.end.reading.state != "no_data" for end in view.ends) and len(view.ends) > 1
            )
            return (
                "Measured at both ends; no rule fired."
                if both
                else "Measured at one end alone, where no rule fired."
            )
        return (
            "A rule fired; the diagnosis accuses nothing here."
            if view.link.state == "watch"
            else ""
        )

    def _facts(self, facts: Sequence[tuple[str, str]]) -> Lines:
        pieces = [
            text((f"{self._signs.name(label, 60)} ", MUTED), self._signs.name(value, 160))
            for label, value in facts
        ]
        width = self._width if self._width > 1_000 else self._width - 4
        return [text("    ").append_text(line) for line in packed(pieces, width)]

    def _counter(self, pair: CountPair) -> Lines:
        worse = pair.worse
        lane = "" if pair.lane is None else f" lane {pair.lane}"
        name = text("  ", (self._signs.name(pair.counter) + lane, TITLE), ("  " + pair.says, MUTED))
        limit = self._limit(worse)
        counted = [self._count("near ", pair.a)]
        if len(self._view.ends) > 1:
            counted.append(self._count("far ", pair.b))
        body = packed([*counted, limit], self._width - 4)
        return [*self._cut(name), *(text("    ").append_text(line) for line in body)]

    def _count(self, where: str, one: Count | None) -> Text:
        if one is None:
            return text((where, MUTED), ("not counted", MUTED))
        if one.events is None:
            why = "absent" if one.quality == "absent" else "no data"
            return text(
                (where, MUTED), (f"{self._signs.states['no_data']} {why}", COLOURS["no_data"])
            )
        bound = self._signs.at_least if one.quality in LOWER_BOUND else ""
        said = f"{bound}{figure(one.events)}"
        if one.quality != "ok":
            said += f" ({one.words})"
        elif one.events and one.per_hour is not None:
            peak = one.peak_per_hour
            is_worse = peak is not None and peak > 1.05 * one.per_hour
            said += f" ({figure(one.per_hour)}/h{f', worst {figure(peak)}/h' if is_worse and peak else ''})"
        return text((where, MUTED), said)

    def _limit(self, worse: Count) -> Text:
        if worse.limit is None:
            return text(("no published limit", MUTED))
        bound = f"{figure(worse.limit)}{_UNIT.get(worse.unit, '')}"
        if worse.share is None:
            return text(("limit ", MUTED), f"{bound} ", (f"({worse.source})", MUTED))
        state = "critical" if worse.share >= 1 else "warning" if worse.share >= 0.5 else "healthy"
        return text(
            bar(min(1.0, worse.share), 10, self._signs, COLOURS[state]),
            (f" {share_text(worse.share, self._signs)}", COLOURS[state]),
            f" of {bound} ",
            (f"({worse.source})", MUTED),
        )

    def _bits(self, bits: BitSplit | None) -> Lines:
        if bits is None:
            return []
        share = bits.multi_share
        if share is None:
            known = (
                "No corrected bit error counted at either end"
                if bits.single is not None
                else "Single or multi-bit"
            )
            return self._said([f"{known}: {bits.words}."], indent="  ")
        drawn = bar(share, _BAR, self._signs, COLOURS["warning"])
        said = (
            f"{share * 100:.0f} % multi-bit, {(1 - share) * 100:.0f} % single-bit "
            f"({figure(bits.multi or 0)} and {figure(bits.single or 0)}; {bits.words})"
        )
        return after(text("  ", drawn, " "), self._signs.name(said, 400), self._width)

    def _weighing(self, one: Coincidence) -> Lines:
        sure = "" if one.confidence is None else f", confidence {one.confidence:.2f}"
        behind = f"; behind {', '.join(one.behind)}" if one.behind else ""
        state = {"responsible": "critical", "suspect": "warning"}.get(one.verdict, "healthy")
        verdict = f"{one.verdict_words[:1].upper()}{one.verdict_words[1:]}{sure}{behind}."
        lines = self._said([verdict], COLOURS[state] if state != "healthy" else TITLE, indent="  ")
        said = link_words.coincidence_words(one)
        if one.p_value is not None:
            over = "" if one.q_value is None else f"; over all candidates {one.q_value:.2g}"
            said.append(
                f"Chance of such an overlap under circular shifts: {one.p_value:.2g}{over}."
            )
        for words, facts in (("Speaks for it", one.for_it), ("Speaks against it", one.against_it)):
            if facts:
                said.append(f"{words} (log odds): {link_words.weights_words(facts)}")
        return lines + self._listed(said)

    def _listed(self, sentences: Iterable[str]) -> Lines:
        return bullets((self._signs.name(sentence, 600) for sentence in sentences), self._width)

    def _said(self, sentences: Sequence[str], style: str = "", *, indent: str = "") -> Lines:
        return [
            line
            for sentence in sentences
            for line in wrapped(
                self._signs.name(sentence, 600), self._width, indent=indent, style=style
            )
        ]

    def _cut(self, line: Text) -> Lines:
        """A line that may be too long for the terminal, wrapped without its styles then."""
        if cell_len(line.plain) <= self._width:
            return [line]
        return wrapped(line.plain.strip(), self._width, style=TITLE)


def link_lines(
    view: LinkView,
    series: FabricSeries,
    signs: Glyphs,
    *,
    width: int,
    list_width: int,
    fresh: Sequence[Text] = (),
    everything: bool = False,
) -> Lines:
    """The whole card: heading, ends, counters, the clock, coincidence, alternatives."""
    card = LinkCard(view, signs, list_width)
    sections = (
        card.ends(),
        card.counters(everything=everything),
        clock_lines(series, signs, width, most_strips=1, is_split=True),
        card.coincidence(),
        card.alternatives(),
    )
    lines = [*card.heading(), *fresh]
    for section in sections:
        if section:
            lines += [text(), *section]
    return lines


def bar(share: float, columns: int, signs: Glyphs, style: str) -> Text:
    """A share of one as a bar; anything above nothing gets a sign, and only the whole fills it."""
    filled = round(share * columns)
    if 0 < share < 1:
        filled = min(columns - 1, max(1, filled))
    return text((signs.full * filled, style), (signs.thin * (columns - filled), MUTED))


def _end_facts(end: LinkEnd) -> list[tuple[str, str]]:
    facts = link_words.end_facts(end) or [("Place", "no topology states it")]
    now = [(f"now {label}", value) for label, value in link_words.end_states(end)]
    return [*facts, *now, *link_words.more_end_facts(end)]
