"""The notes that stand with the readers: complete for every built-in format, and true where code can tell."""

from __future__ import annotations

import re
from dataclasses import astuple
from typing import ClassVar

import pytest

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import FormatNote, SourceFile, note_of
from fabric_pipeline.sources.registry import BUILT_IN, reader_for


class WithoutNote:
    """A reader of somebody else's, as the contract asks for it and no more."""

    format_id: ClassVar[str] = "house_log"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings"})

    def score(self, _: SourceFile) -> int:
        return 0

    def read(self, _: SourceFile) -> ReadResult:
        return ReadResult()


class WithForeignNote(WithoutNote):
    """Something else under the same name."""

    note: ClassVar[str] = "reads the log of the house"


def noted(format_id: str) -> FormatNote:
    note = note_of(reader_for(format_id))
    assert note is not None, f"{format_id} has no note"
    return note


@pytest.mark.parametrize("format_id", BUILT_IN)
def test_a_built_in_reader_has_a_complete_note(format_id: str) -> None:
    assert reader_for(format_id).format_id == format_id
    note = noted(format_id)
    assert note.traps
    for text in (*astuple(note)[:4], *note.traps):
        assert text == " ".join(text.split()) != ""
        assert not re.search(r"[<>|]", re.sub(r"`[^`]*`", "", text)), "markup stands in backticks"
        assert text.count("`") % 2 == 0
    assert all(trap.endswith(".") for trap in note.traps)
    assert len(set(note.traps)) == len(note.traps)


@pytest.mark.parametrize("format_id", BUILT_IN)
def test_a_note_says_facts_only_when_a_reader_yields_no_records(format_id: str) -> None:
    says = noted(format_id).gives.startswith("facts only")
    assert says == (not reader_for(format_id).yields)


@pytest.mark.parametrize("format_id", BUILT_IN)
def test_words_in_backticks_are_no_names_of_other_formats(format_id: str) -> None:
    """A note that was copied from a neighbour would speak of the neighbour."""
    words = " ".join((noted(format_id).recognised_by, *noted(format_id).traps))
    assert [other for other in BUILT_IN if other != format_id and f"`{other}`" in words] == []


def test_a_reader_without_a_note_has_none() -> None:
    assert note_of(WithoutNote()) is None
    assert note_of(WithForeignNote()) is None
