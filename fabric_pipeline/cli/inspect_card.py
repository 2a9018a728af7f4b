"""What `inspect` shows a person: the verdict, then cause, evidence, what is not known and how to settle it.

Pure: an `Examination` in, lines out. What is cut for one screen is counted, and `--all` shows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.text import Text

from fabric_pipeline.cli.fabric_style import COLOURS, MUTED, TITLE, Glyphs, plural
from fabric_pipeline.cli.inspect_words import (
    HOST_FACTS,
    component_remark,
    effect_words,
    first_sentences,
    grouped_unknown,
    input_words,
    kind_words,
    kinds_folded,
    reason_words,
    short_path,
    shown_id,
    shown_name,
)
from fabric_pipeline.cli.text_layout import Lines, text, wrapped
from fabric_pipeline.diagnose.coverage import Coverage, measured_words, unmeasured_words
from fabric_pipeline.diagnose.next_capture import NextCapture
from fabric_pipeline.model.components import parse_component
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.sources.registry import UNKNOWN_FORMAT
from fabric_pipeline.workflows.inspect import Examination, Told
from fabric_pipeline.workflows.inspect_quotes import Quote, window

_LABEL = 11  # columns of the labels in front of what is said
_READ_WIDTH = 110  # sentences are not wrapped wider: longer lines are hard to read
_PIPE = 1000  # a list is wider than this in a pipe only: nothing is wrapped or cut there
_ONE_LINERS = 4  # further causes that have a line on one screen
_ABSENCES = ("no_telemetry", "series_vanished")
_VERDICTS = {
    "faulty": "FAULTY",
    "not_a_link": "NOT A LINK",
    "healthy": "HEALTHY as far as measured",
    "no_data": "NO DATA",
}


class InspectCard:
    """Writes the sections of one examination. `width` is that of lists, endless for a pipe."""

    def __init__(self, seen: Examination, signs: Glyphs, width: int, *, everything: bool) -> None:
        """`everything`: nothing is cut for the sake of one screen."""
        self._seen = seen
        self._signs = signs
        self._width = width
        self._words = width if width > _PIPE else min(width, _READ_WIDTH)
        self._all = everything
        self._causes = [one for one in seen.told if one.finding.accuses]

    def lines(self) -> Lines:
        """The whole card."""
        lines = self._accused() if self._causes else self._no_cause()
        lines += self._noted()
        for section in (self._problems(), self._unknown(), self._settle(), self._inputs()):
            lines += [text(), *section] if section else []
        return lines

    def _accused(self) -> Lines:
        """The first line has to be enough at night: verdict, weight, component."""
        first, *others = self._causes
        severity = first.finding.severity
        word = _VERDICTS.get(self._seen.verdict, self._seen.verdict)
        line = text(self._sign(severity, f"{word} {severity}"), "  ", self._what(first.finding))
        if others:
            line.append(f"  and {len(others)} more", COLOURS["watch"])
        lines = [self._fitted(line), *self._cause(first, is_alone=not others)]
        for place, told in enumerate(others):
            if not self._all and place >= _ONE_LINERS:
                lines.append(text(("  " + self._more(len(others) - place), MUTED)))
                break
            finding = told.finding
            head = text(self._sign(finding.severity, ""), " ", self._what(finding))
            if self._all or place == 0:
                lines += [self._fitted(head), *self._cause(told, is_alone=False)]
            else:
                kind = f"  {kind_words(finding)}" if _is_place(finding) else ""
                lines.append(self._fitted(head.append(kind)))
        return lines

    def _no_cause(self) -> Lines:
        """What was measured and found in order, or that nothing was measured."""
        seen = self._seen
        word = _VERDICTS.get(seen.verdict, seen.verdict)
        if seen.verdict == "no_data":
            what = "this file" if len(seen.files) == 1 else "these files"
            line = text(
                self._sign("no_data", word), f"  nothing about links was measured in {what}"
            )
            wanted = ", ".join(unmeasured_words(Coverage()))
            return [self._fitted(line), *self._labelled("missing", wanted)]
        watched = sum(one.finding.severity == "watch" for one in seen.told)
        line = text(self._sign("watch" if watched else "healthy", word))
        if watched:
            line.append(f", {plural(watched, 'thing')} to watch", COLOURS["watch"])
        measured = "; ".join(measured_words(seen.coverage))
        silent = [
            f"{kind_words(one.finding)} ({self._id(one.finding.component)})"
            for one in seen.told
            if one.finding.kind in _ABSENCES
        ]
        missing = [*silent[:3], *unmeasured_words(seen.coverage)]
        lines = [self._fitted(line), *self._labelled("measured", measured)]
        return lines + self._labelled("missing", ", ".join(missing))

    def _cause(self, told: Told, *, is_alone: bool) -> Lines:
        finding = told.finding
        said = reason_words(finding)
        if not self._all:
            said = first_sentences(
                said, 3 if is_alone else 2, (4 if is_alone else 3) * self._room()
            )
        lines = self._labelled("why", said) + self._labelled("effect", effect_words(finding))
        if finding.is_link:
            far = self._id(finding.far_end) if finding.far_end else "not named in these files"
            lines += self._labelled("far end", far)
        lines += self._quotes(told, len(told.quotes) if self._all else 3 if is_alone else 1)
        followers = [one.finding for one in self._seen.told if _follows(one.finding, finding)]
        lines += self._labelled("follows", self._folded(followers))
        if finding.alternatives and (self._all or is_alone):
            others = finding.alternatives if self._all else finding.alternatives[:1]
            lines += self._labelled("or else", "; ".join(others))
        return lines

    def _quotes(self, told: Told, most: int) -> Lines:
        lines: Lines = []
        shown = told.quotes[:most]
        for number, quote in enumerate(shown):
            lines += self._quote(quote, "evidence" if number == 0 else "", is_first=number == 0)
        places = len({(ref.file, ref.line) for ref in told.finding.evidence})
        if shown and places > len(shown):
            lines += self._labelled("", self._more(places - len(shown), "place"))
        return lines

    def _quote(self, quote: Quote, label: str, *, is_first: bool) -> Lines:
        """`file:line` and the text of that line, cut around what matters; the text is only data."""
        head = text((f"  {label}".ljust(_LABEL), MUTED))
        number = "" if quote.line is None else f":{quote.line}"
        path = self._signs.name(shown_name(quote.path), 400)
        means = f"{quote.means} in " if quote.means else ""
        said = means + quote.text
        beside = self._width - _LABEL - len(path) - len(number) - 2
        if len(said) > beside and is_first and beside < 60:
            path = short_path(path, self._width - _LABEL - len(number), self._signs.cut)
            return [
                self._fitted(head.append(path + number, MUTED)),
                self._fitted(text(" " * _LABEL, self._cut(quote, means, self._width - _LABEL))),
            ]
        if len(said) > beside:
            room = self._width - _LABEL - len(number) - 2 - min(len(said), 36)
            path = short_path(path, max(16, room), self._signs.cut)
        left = max(20, self._width - _LABEL - len(path) - len(number) - 2)
        line = head.append(path + number, MUTED).append(f"  {self._cut(quote, means, left)}")
        return [self._fitted(line)]

    def _cut(self, quote: Quote, means: str, room: int) -> str:
        """What a line says, in this many columns, around what matters."""
        cut, _ = window(quote.text, quote.focus, min(max(10, room - len(means)), 400))
        return self._signs.name(means + cut, 500)

    def _noted(self) -> Lines:
        """Everything that accuses nothing, and does not follow from a cause that is shown."""
        causes = [one.finding for one in self._causes]
        loose = [
            one
            for one in self._seen.told
            if not one.finding.accuses and not any(_follows(one.finding, c) for c in causes)
        ]
        if not loose:
            return []
        watched = [one for one in loose if one.finding.severity == "watch"]
        of_kind = {one.finding.kind: one for one in reversed(watched)}  # the first of each kind
        firsts = [one for one in watched if of_kind[one.finding.kind] is one]
        shown = loose if self._all else [] if causes else firsts[:3]
        lines: Lines = [text()] if shown or not causes else []
        kinds = Counter(one.finding.kind for one in watched)
        for told in shown:
            finding = told.finding
            said = reason_words(finding)
            head = text(self._sign(finding.severity, ""), " ", self._what(finding))
            more = 0 if self._all else kinds[finding.kind] - 1
            lines.append(self._fitted(head.append(f"  {self._more(more)}" if more > 0 else "")))
            lines += self._labelled("", said if self._all else self._short(said, 2))
            lines += self._quotes(told, len(told.quotes) if self._all else 1)
        told_kinds = {one.finding.kind for one in shown if one.finding.severity == "watch"}
        rest = [
            one.finding
            for one in loose
            if one not in shown
            and (one.finding.kind not in told_kinds or one.finding.severity != "watch")
        ]
        return lines + self._labelled("context", self._folded(rest))

    def _unknown(self) -> Lines:
        groups = grouped_unknown(self._seen.unknown)
        if self._has_nameless_host():
            groups = [one for one in groups if not one[0].startswith(HOST_FACTS)]
            groups.insert(0, ("host: not stated in these files, --node NAME gives it", ""))
        if not groups:
            return []
        most = len(groups) if self._all else 1 if len(self._causes) > 1 else 3
        lines: Lines = [text(("Not known", TITLE))]
        for fact, alike in groups[:most]:
            said = fact if self._all else self._short(fact, 2)
            lines += self._indented(said + (f" ({alike})" if alike else ""))
        if len(groups) > most:
            lines.append(text(("  " + self._more(len(groups) - most), MUTED)))
        return lines

    def _settle(self) -> Lines:
        captures = self._seen.captures
        if not captures:
            return []
        most = len(captures) if self._all else 2 if len(self._causes) > 1 else 3
        remark = "   read-only; give the output to inspect with these files"
        lines: Lines = [self._fitted(text(("What would settle it", TITLE), (remark, MUTED)))]
        for one in captures[:most]:
            lines += self._capture(one)
        if len(captures) > most:
            lines.append(text(("  " + self._more(len(captures) - most), MUTED)))
        return lines

    def _capture(self, one: NextCapture) -> Lines:
        """The command whole on its line, so that it can be copied; what it settles behind or below."""
        when = f"{one.after_minutes} minutes after the first: " if one.after_minutes else ""
        command = text("  ", (one.command, TITLE))
        said = when + one.settles
        if command.cell_len + len(said) + 5 <= self._width:
            return [command.append(f"   # {said}", MUTED)]
        return [command, *wrapped(said, self._words, indent="      ", style=MUTED)]

    def _problems(self) -> Lines:
        """Files that were not read, each with what to do; they never look like a clean reading."""
        said = [f"{shown_name(one.name)}: {one.problem}" for one in self._seen.files if one.problem]
        said += self._seen.problems
        if not said:
            return []
        most = len(said) if self._all else 3
        lines: Lines = [text((f"Not read: {len(said):,}", COLOURS["warning"]))]
        for one in said[:most]:
            lines += self._indented(one)
        if len(said) > most:
            lines.append(text(("  " + self._more(len(said) - most), MUTED)))
        return lines

    def _inputs(self) -> Lines:
        return wrapped(
            self._signs.name(input_words(self._seen.files), 600), self._words, style=MUTED
        )

    def _has_nameless_host(self) -> bool:
        """True when the component that is accused first lies in a host that nobody named."""
        if not self._causes:
            return False
        return "host" in component_remark(self._causes[0].finding.component)

    def _what(self, finding: Finding) -> Text:
        """The id, what it does not say by itself, and the kind of trouble where no link says it."""
        kind = "" if _is_place(finding) else kind_words(finding)
        pieces = (kind, (self._id(finding.component), TITLE), component_remark(finding.component))
        line = text()
        for piece in pieces:
            shown = text(piece)
            if shown.plain:
                line.append("  " if line.plain else "").append_text(shown)
        return line

    def _folded(self, findings: Sequence[Finding]) -> str:
        return self._signs.name(kinds_folded(findings, self._signs.cut), 1000) if findings else ""

    def _more(self, number: int, noun: str = "") -> str:
        what = plural(number, f"more {noun}") if noun else f"{number:,} more"
        return f"and {what}" + ("" if self._all else ": --all")

    def _short(self, words: str, rows: int) -> str:
        return first_sentences(words, 1, rows * self._room())

    def _sign(self, state: str, words: str) -> tuple[str, str]:
        state = "healthy" if state == "info" else state
        return (f"{self._signs.states[state]} {words}".rstrip(), COLOURS[state])

    def _id(self, component: str) -> str:
        return self._signs.name(shown_id(component), 100)

    def _room(self) -> int:
        return max(20, self._words - _LABEL)

    def _labelled(self, label: str, words: str) -> Lines:
        """A sentence behind its label, wrapped under itself; nothing when there is none."""
        rows = wrapped(self._signs.name(words, 4000), self._words, indent=" " * _LABEL)
        if rows:
            head = text((f"  {label}".ljust(_LABEL), MUTED))
            rows[0] = head.append_text(rows[0][_LABEL:])
        return rows

    def _indented(self, words: str) -> Lines:
        rows = wrapped(self._signs.name(words, 4000), self._words - 4) or [text()]
        return [
            text("    " if number else "  ").append_text(row) for number, row in enumerate(rows)
        ]

    def _fitted(self, line: Text) -> Text:
        """The line, with an ellipsis where it does not fit."""
        if line.cell_len > self._width:
            line.truncate(self._width - len(self._signs.cut), overflow="crop")
            line.append(self._signs.cut)
        return line


def input_rows(seen: Examination) -> Iterable[tuple[str, str, int, int]]:
    """Every input with its format, readings and refused lines, for `--files`."""
    for one in seen.files:
        refused = 0 if one.format == UNKNOWN_FORMAT else one.rejected
        yield shown_name(one.name), one.format, one.readings, refused


def _is_place(finding: Finding) -> bool:
    """True for a link, port or device that is accused as such."""
    return finding.is_link and bool(parse_component(finding.component).interface)


def _follows(finding: Finding, cause: Finding) -> bool:
    return not finding.accuses and finding.cause == cause.component
