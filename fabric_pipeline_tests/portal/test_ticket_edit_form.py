"""From a draft to a form and back: nothing changes by itself, nothing that was typed is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.incidents.ticket import (
    CableFacts,
    EvidenceStatement,
    FarPlace,
    PartChoice,
    RepairStep,
    TicketDraft,
)
from fabric_pipeline.portal.ticket_edit_form import changes, clashes, entries, merged, typed_fields
from fabric_pipeline.workflows.edit_fields import EDITABLE, fields_of
from fabric_pipeline_tests.portal.ticket_homes import edit_form
from fabric_pipeline_tests.store.fakes import draft

HOSTILE = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=80
) | st.sampled_from(
    ["<script>alert(1)</script>", "\"'>", "=1+1", "a\nb", " x ", "\u202eabc", "x" * 140]
)
TEXT = HOSTILE.filter(lambda text: bool(text.strip()))


@st.composite
def drafts(draw: st.DrawFn) -> TicketDraft:
    made = draft(
        rack=draw(HOSTILE),
        contact=draw(HOSTILE),
        far_place=FarPlace(rack=draw(HOSTILE)),
        cable=CableFacts(length_m=draw(st.none() | st.floats(0, 5000)), medium=draw(HOSTILE)),
        parts=[PartChoice(name=draw(TEXT), quantity=draw(st.integers(1, 99)))],
        tools=draw(st.lists(TEXT, max_size=4)),
    )
    words = made.text.model_copy(
        update={
            "title": draw(TEXT),
            "alternatives": draw(st.lists(TEXT, max_size=3)),
            "repair_steps": [RepairStep(do=draw(TEXT), proves=draw(TEXT))],
            "evidence_statements": [EvidenceStatement(claim=draw(TEXT), evidence_ids=["E1", "E2"])],
        }
    )
    return made.model_copy(update={"text": words})


@given(drafts())
def test_a_form_that_is_sent_back_untouched_changes_nothing(made: TicketDraft) -> None:
    form = {name: " ".join(text.split("\r\n")) for name, text in edit_form(made, "").items()}
    assert changes(typed_fields(form, made), made) == {}


def test_every_field_that_people_may_write_has_an_input() -> None:
    fields = [entry.field for _, group in entries(fields_of(draft())) for entry in group]
    assert sorted(fields) == sorted(EDITABLE)
    assert len(set(edit_form(draft(), ""))) > len(EDITABLE)


def test_rows_are_taken_in_the_order_of_the_form_and_empty_ones_left_out() -> None:
    made = draft(tools=["torque driver", "dust caps"])
    form = edit_form(made, "")
    for name in [name for name in form if name.startswith("tools.") and name != "tools.listed"]:
        del form[name]
    form |= {"tools.2": "label printer", "tools.1": "dust caps", "tools.0": "  "}
    assert changes(typed_fields(form, made), made) == {"tools": ["label printer", "dust caps"]}


def test_what_is_no_number_is_kept_as_it_was_typed() -> None:
    made = draft()
    form = edit_form(
        made, "", **{"cable.length_m": "ten", "parts.0.quantity": "two", "parts.0.name": "X"}
    )
    typed = typed_fields(form, made)
    assert typed["cable"]["length_m"] == "ten"
    assert typed["parts"][0]["quantity"] == "two"
    boxes = {box.name: box.value for _, g in entries(typed) for e in g for box in e.boxes}
    assert boxes["cable.length_m"] == "ten"


def test_changes_of_two_people_are_put_together_part_by_part() -> None:
    base = draft(cable={"serial": "S0", "colour": "aqua"})
    theirs = draft(title="Theirs", cable={"serial": "S1", "colour": "aqua"}, rack="R1")
    mine = changes(
        typed_fields(edit_form(base, "", title="Mine", **{"cable.colour": "blue"}), base), base
    )
    both = merged(mine, base, theirs)
    assert (both["title"], both["rack"]) == ("Mine", "R1")
    assert (both["cable"]["serial"], both["cable"]["colour"]) == ("S1", "blue")
    found = {one.label: one for one in clashes(mine, base, theirs)}
    assert set(found) == {"Title", "Cable"}
    assert found["Title"].theirs[-1].text == "Theirs"


def test_a_form_without_a_list_leaves_the_list_alone() -> None:
    made = draft(tools=["torque driver"])
    assert changes(typed_fields({"rack": "R7"}, made), made) == {"rack": "R7"}
