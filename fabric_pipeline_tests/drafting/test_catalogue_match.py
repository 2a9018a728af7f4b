"""Which entry answers: platform facts decide, a doubt goes to the general entry, and the ticket says so."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric_pipeline.drafting.catalogue import Catalogue
from fabric_pipeline.drafting.rules_draft import draft_by_rules
from fabric_pipeline.incidents.record import CableFacts, PlatformFacts
from fabric_pipeline_tests.drafting.catalogue_cases import DOUBTFUL, FITTING
from fabric_pipeline_tests.drafting.incidents import infiniband_incident, nvlink_incident


def test_every_entry_of_the_catalogue_is_reached(catalogue: Catalogue) -> None:
    assert set(FITTING) == {entry.entry_id for entry in catalogue.entries}


@pytest.mark.parametrize("entry_id", FITTING)
def test_a_fitting_link_gets_its_entry(entry_id: str, catalogue: Catalogue) -> None:
    assert catalogue.entry_for(FITTING[entry_id]).entry_id == entry_id


@pytest.mark.parametrize("case", DOUBTFUL)
def test_facts_are_weighed_and_doubts_go_to_the_general_entry(
    case: str, catalogue: Catalogue
) -> None:
    incident, entry_id = DOUBTFUL[case]
    assert catalogue.entry_for(incident).entry_id == entry_id


def test_a_ticket_says_that_the_platform_is_not_known(catalogue: Catalogue) -> None:
    incident, _ = DOUBTFUL["two names of two platforms"]
    ticket = draft_by_rules(incident, catalogue)
    assert ticket.replacement_part.startswith("Platform not known, so the part is not known either")
    assert ticket.part_number == ""
    assert ticket.parts == []


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    words=st.text(max_size=60),
    counts=st.none() | st.integers(0, 80),
    speed=st.none() | st.floats(0, 1e6),
)
def test_any_facts_give_an_entry(
    words: str, counts: int | None, speed: float | None, catalogue: Catalogue
) -> None:
    facts = PlatformFacts(
        stated=words,
        gpu_model=words,
        nic_model=words,
        nvlinks_of_gpu=counts,
        nvswitches_of_gpu=counts,
        speed_gbps=speed,
    )
    cable = CableFacts(medium=words, connector=words, part_number=words)
    for make in (nvlink_incident, infiniband_incident):
        incident = make(platform=facts, cable=cable, part_reference=words)
        kind = catalogue.entry_for(incident).link_types
        assert {incident.link_type, "any"} & set(kind)
