"""The shipped parts catalogue, how entries are chosen, and what a bad catalogue file is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from fabric_pipeline.drafting.catalogue import (
    Catalogue,
    catalogue_problems,
    catalogue_schema,
    load_catalogue,
)
from fabric_pipeline.drafting.forbidden import forbidden
from fabric_pipeline.errors import BadInputError
from fabric_pipeline_tests.drafting.incidents import (
    infiniband_incident,
    nvlink_incident,
    pcie_incident,
)
from fabric_pipeline_tests.pipeline_runs import ROOT

GOOD: dict[str, Any] = {
    "entry_id": "any-link",
    "title": "Any link",
    "link_types": ["any"],
    "default_for_its_link_types": True,
    "replaceable_part": "Ask the vendor",
    "tools": ["strap"],
    "safety": ["Wear the strap."],
    "drain_scope": "node",
    "drain": "All of {node}.",
    "port_isolation": "Ask the network team about {port}.",
    "repair_steps": [{"action": "reseat", "do": "Seat {near} again.", "proves": "Bad contact."}],
    "test_after_repair": "Traffic for 30 minutes.",
    "pass_criteria": ["0 new errors in 30 minutes"],
    "rollback": "Put it back.",
}


def write(folder: Path, *entries: dict[str, Any]) -> Path:
    for number, entry in enumerate(entries):
        (folder / f"entry-{number}.yaml").write_text(yaml.safe_dump(entry), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("incident", "entry_id"),
    [
        (nvlink_incident(), "nvlink-hgx-h100"),
        (nvlink_incident(part_reference="HGX-H100-Baseboard"), "nvlink-hgx-h100"),
        (nvlink_incident(part_reference=""), "nvlink-platform-unknown"),
        (nvlink_incident(part_reference="a-part-of-another-house"), "nvlink-platform-unknown"),
        (nvlink_incident(link_type="", part_reference=""), "nvlink-platform-unknown"),
        (nvlink_incident(fault_type="shared_component"), "shared-part"),
        (infiniband_incident(), "infiniband-ndr-osfp"),
        (infiniband_incident(part_reference=""), "infiniband-rate-unknown"),
        (infiniband_incident(link_type="roce", part_reference=""), "infiniband-rate-unknown"),
        (pcie_incident(), "pcie-slot"),
        (pcie_incident(part_reference="MMA4Z00-NS"), "pcie-slot"),
        (pcie_incident(link_type="ethernet"), "no-entry"),
        (pcie_incident(link_type="", isolated_component="n1:thing"), "no-entry"),
        (pcie_incident(part_reference="pcie-riser"), "pcie-riser"),
        (pcie_incident(part_reference="Retimer"), "pcie-retimer"),
        (infiniband_incident(part_reference="MCP7Y00-N002"), "infiniband-copper"),
        (infiniband_incident(part_reference="MMA4Z00-NS-T"), "infiniband-rate-unknown"),
        (infiniband_incident(link_type="roce", part_reference="MMA4Z00-NS-T"), "roce-optical-osfp"),
    ],
)
def test_entry_is_chosen_by_part_then_link_type(
    incident: Any, entry_id: str, catalogue: Catalogue
) -> None:
    assert catalogue.entry_for(incident).entry_id == entry_id


def test_every_part_number_has_a_public_source(catalogue: Catalogue) -> None:
    parts = [part for entry in catalogue.entries for part in entry.known_parts]
    assert parts
    assert all(part.source.startswith("https://docs.nvidia.com/") for part in parts)
    assert all(part.part_number == part.reference for part in parts)
    assert all(
        option.source for entry in catalogue.entries for option in entry.parts if option.part_number
    )


def test_every_entry_with_a_part_says_what_its_return_form_asks_for(catalogue: Catalogue) -> None:
    for entry in catalogue.entries:
        asked = {need.source for need in entry.rma}
        assert {"component", "fault", "first_seen", "evidence", "attach", "ask"} <= asked, entry
        assert entry.drain_scope in ("node", "nodes")
        assert entry.default_for_its_link_types or entry.parts
        assert len({step.action for step in entry.repair_steps}) == len(entry.repair_steps)


def test_no_text_of_the_catalogue_is_one_that_a_draft_may_not_hold(catalogue: Catalogue) -> None:
    for entry in catalogue.entries:
        assert [text for text in entry.worded() if forbidden(text)] == []


def test_every_entry_states_criteria_with_figures(catalogue: Catalogue) -> None:
    for entry in catalogue.entries:
        assert any(char.isdigit() for text in entry.pass_criteria for char in text)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"rollback": "Put {part} back."}, "unknown placeholder"),
        ({"rollback": "Reboot the node."}, "rollback: it asks for or names a reboot"),
        ({"safety": ["Power cycle the node first."]}, "safety.0: it asks for"),
        ({"parts": [{"name": "Cable", "part_number": "X1"}]}, "part_number X1 has no source"),
        ({"parts": [{"name": "Cable"}, {"name": "Cable"}]}, "parts: name stated twice: Cable"),
        ({"rma": [{"item": "Serial", "from": "serial"}]}, "rma.0.from"),
        ({"drain_scope": "rack"}, "drain_scope"),
        ({"fits": {"media": ["dac"], "speed": [400]}}, "fits.speed"),
        (
            {"repair_steps": [{"action": "swap", "do": "a", "proves": "b", "part": "Cable"}]},
            "name a part that parts does not list: Cable",
        ),
        (
            {"repair_steps": [{"action": "swap", "do": "a", "proves": "b"}] * 2},
            "action stated twice: swap",
        ),
        (
            {"repair_steps": [{"action": "Re-seat", "do": "a", "proves": "b"}]},
            "repair_steps.0.action",
        ),
        ({"pass_criteria": ["no errors"]}, "no figure"),
        ({"link_types": ["token-ring"]}, "link_types"),
        ({"colour": "red"}, "colour"),
        ({"default_for_its_link_types": False}, "no entry with link_types"),
        ({"repair_steps": []}, "repair_steps"),
        ({"known_parts": [{"reference": "A1", "part_number": "A1"}]}, "known_parts.0.description"),
    ],
)
def test_bad_entry_is_refused_with_its_field(
    changes: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInputError, match=complaint):
        load_catalogue(write(tmp_path, {**GOOD, **changes}))


def test_two_entries_may_not_claim_the_same_part(tmp_path: Path) -> None:
    other = {**GOOD, "entry_id": "b", "link_types": ["pcie"], "part_references": ["ANY-LINK"]}
    with pytest.raises(BadInputError, match="more than one entry: any-link"):
        load_catalogue(write(tmp_path, GOOD, other))


def test_two_defaults_for_one_link_type_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="default for any"):
        load_catalogue(write(tmp_path, GOOD, {**GOOD, "entry_id": "b"}))


def test_empty_folder_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(
        BadInputError, match=r"holds no \*.yaml file -> run from a checkout.*FABRIC_CATALOGUE"
    ):
        load_catalogue(tmp_path)


@pytest.mark.parametrize(
    "content", [b"{", b"\xff\xfe", b"- 1", b"", b"!!python/object:os.system {}"]
)
def test_broken_file_is_named(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_bytes(content)
    with pytest.raises(BadInputError, match=r"broken\.yaml"):
        load_catalogue(tmp_path)


def test_all_mistakes_of_a_folder_are_listed_with_file_and_field(tmp_path: Path) -> None:
    other = {**GOOD, "entry_id": "b", "default_for_its_link_types": False, "title": ""}
    write(tmp_path, {**GOOD, "colour": "red", "drain": ""}, other)
    (tmp_path / "c.yml").write_text("a: [", encoding="utf-8")
    problems = catalogue_problems(tmp_path)
    assert len(problems) == 4
    assert [problem.rpartition("/")[2].partition(": ")[0] for problem in problems] == [
        "c.yml", "entry-0.yaml", "entry-0.yaml", "entry-1.yaml"
    ]  # fmt: skip
    assert "entry-0.yaml: drain: " in problems[1]
    assert "entry-1.yaml: title: " in problems[3]


def test_a_sound_folder_has_no_problems_and_is_used(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    assert catalogue_problems(tmp_path) == []
    assert load_catalogue(tmp_path).entry_for(nvlink_incident()).entry_id == "any-link"


def test_the_schema_names_what_a_file_must_hold() -> None:
    schema = catalogue_schema()
    assert {"entry_id", "drain_scope", "repair_steps", "pass_criteria"} <= set(schema["required"])
    assert schema["additionalProperties"] is False
    assert "from" in schema["$defs"]["RmaNeed"]["properties"]


def test_a_key_that_stands_twice_is_refused_with_its_line(tmp_path: Path) -> None:
    shipped = (ROOT / "data" / "catalogue" / "no-entry.yaml").read_text(encoding="utf-8")
    (tmp_path / "no-entry.yaml").write_text(shipped + "title: another title\n", encoding="utf-8")
    with pytest.raises(BadInputError, match=r"no-entry\.yaml.*'title' stands twice"):
        load_catalogue(tmp_path)
