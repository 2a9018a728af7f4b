"""Origins: every field that a form shows has one, and nothing else has."""

from __future__ import annotations

from fabric_pipeline.incidents.ticket import FIELD_ORIGINS, DraftText, TicketDraft
from fabric_pipeline.workflows.field_origins import ACCOUNTS, LETTERS, letter, origins_by_path
from fabric_pipeline_tests.workflows.full_tickets import typical


def test_the_table_covers_every_shown_field_and_nothing_else() -> None:
    shown = (set(TicketDraft.model_fields) - ACCOUNTS - {"text"}) | set(DraftText.model_fields)
    assert set(FIELD_ORIGINS) == shown
    assert set(TicketDraft.model_fields) >= ACCOUNTS
    assert set(FIELD_ORIGINS.values()) == set(LETTERS)


def test_every_path_of_a_full_ticket_has_an_origin() -> None:
    paths = origins_by_path()
    dumped = typical().model_dump(exclude=set(ACCOUNTS))

    def walk(value: object, path: str) -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                walk(inner, f"{path}.{name}" if path else name)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            walk(value[0], f"{path}[]")
        if path not in ("", "text") and not path.endswith("[]"):
            found.add(path)

    found: set[str] = set()
    walk(dumped, "")
    assert found == set(paths)


def test_nested_fields_may_have_an_origin_of_their_own() -> None:
    paths = origins_by_path()
    assert paths["parts[].spare_location"] == "topology"
    assert paths["parts[].part_number"] == "catalogue"
    assert paths["far_place.rack"] == paths["cable.length_m"] == "topology"
    assert paths["text.repair_steps[].do"] == "drafted"
    assert paths["earlier_repairs[].outcome"] == "ledger"
    assert (letter("rack"), letter("parts[].spare_location"), letter("begin_at_step")) == (
        "T",
        "T",
        "L",
    )
