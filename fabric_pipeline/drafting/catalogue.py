"""The parts catalogue: replaceable part, tools, safety, steps and pass criteria by link and part.

It is read from YAML files of the site and validated as a whole. It alone may state a part number;
no drafter, human-written rule or model, adds one.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from fabric_pipeline.drafting.forbidden import forbidden
from fabric_pipeline.errors import BadInputError
from fabric_pipeline.incidents.record import FaultType, IncidentRecord
from fabric_pipeline.incidents.ticket import RepairStep
from fabric_pipeline.model.components import link_type_of, parse_component

# What a text of the catalogue may leave open; `drafting.places` fills it from the incident.
PLACEHOLDERS = frozenset({"near", "far", "port", "node", "gpu", "cable"})
NO_PART_NUMBER = "no part number in the catalogue"
LinkType = Literal["nvlink", "pcie", "infiniband", "roce", "any"]

_PLACEHOLDER = re.compile(r"\{([^{}]{0,40})\}")
# A draft holds ten steps; identifying the part and closing the ticket take two of them.
MAX_STEPS = 8


class KnownPart(BaseModel):
    """A part that the topology may name, with its public vendor number and where that is published."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    reference: str = Field(min_length=1)
    part_number: str = Field(min_length=1)
    description: str = Field(min_length=1)
    source: str = Field(min_length=1)


class CatalogueEntry(BaseModel):
    """One kind of link on one platform. Texts may hold the placeholders of `PLACEHOLDERS`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    entry_id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,60}$")
    title: str = Field(min_length=1, max_length=120)
    link_types: tuple[LinkType, ...] = Field(min_length=1)
    default_for_its_link_types: bool = False
    fault_types: tuple[FaultType, ...] = ()
    part_references: tuple[str, ...] = ()
    known_parts: tuple[KnownPart, ...] = ()
    replaceable_part: str = Field(min_length=1, max_length=400)
    sources: tuple[str, ...] = ()
    tools: tuple[str, ...] = Field(min_length=1)
    safety: tuple[str, ...] = Field(min_length=1)
    drain: str = Field(min_length=1, max_length=400)
    port_isolation: str = Field(min_length=1, max_length=600)
    repair_steps: tuple[RepairStep, ...] = Field(min_length=1, max_length=MAX_STEPS)
    test_after_repair: str = Field(min_length=1, max_length=400)
    pass_criteria: tuple[str, ...] = Field(min_length=1)
    rollback: str = Field(min_length=1, max_length=320)

    @model_validator(mode="after")
    def _check_texts(self) -> Self:
        for text in self.worded():
            unknown = set(_PLACEHOLDER.findall(text)) - PLACEHOLDERS
            if unknown:
                raise ValueError(f"unknown placeholder {sorted(unknown)} in: {text[:80]}")
            if reasons := forbidden(text):
                raise ValueError(f"{reasons[0]}: {text[:80]}")
        if not any(char.isdigit() for text in self.pass_criteria for char in text):
            raise ValueError("pass_criteria hold no figure, so nobody could tell pass from fail")
        return self

    def worded(self) -> list[str]:
        """Every text that a technician is asked to act on, except safety and tools."""
        steps = [text for step in self.repair_steps for text in (step.do, step.proves)]
        single = [self.replaceable_part, self.drain, self.port_isolation, self.test_after_repair]
        return [*single, *steps, *self.pass_criteria, self.rollback]

    def known_part(self, reference: str) -> KnownPart | None:
        """The known part with this reference, letter case aside, else None."""
        wanted = reference.strip().casefold()
        return next(
            (part for part in self.known_parts if part.reference.casefold() == wanted), None
        )

    def answers_to(self, reference: str) -> bool:
        """True when the topology's part reference names this entry or one of its parts."""
        wanted = reference.strip().casefold()
        names = {self.entry_id, *(name.casefold() for name in self.part_references)}
        return bool(wanted) and (wanted in names or self.known_part(reference) is not None)


class Catalogue(BaseModel):
    """All entries; exactly one of them answers for links that no other entry knows."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    entries: tuple[CatalogueEntry, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check_unique(self) -> Self:
        names = [entry.entry_id for entry in self.entries]
        names += [
            ref.casefold() for e in self.entries for ref in e.part_references if ref != e.entry_id
        ]
        names += [part.reference.casefold() for e in self.entries for part in e.known_parts]
        defaults = [f"default for {kind}" for e in self.entries for kind in _defaults_of(e)]
        for group in (names, defaults):
            twice = sorted({name for name in group if group.count(name) > 1})
            if twice:
                raise ValueError(f"stated by more than one entry: {', '.join(twice)}")
        if "default for any" not in defaults:
            raise ValueError("no entry with link_types: [any] and default_for_its_link_types: true")
        return self

    def entry_for(self, incident: IncidentRecord) -> CatalogueEntry:
        """The entry for the incident: by fault type, part reference, link type, else the fallback."""
        kind = link_kind(incident)
        for entry in self.entries:
            if incident.fault_type in entry.fault_types and {kind, "any"} & set(entry.link_types):
                return entry
        for entry in self.entries:
            if kind in entry.link_types and entry.answers_to(incident.part_reference):
                return entry
        return self._default(kind) or self.fallback

    @property
    def fallback(self) -> CatalogueEntry:
        """The entry that says there is no entry."""
        return next(entry for entry in self.entries if "any" in _defaults_of(entry))

    def _default(self, kind: str) -> CatalogueEntry | None:
        return next((entry for entry in self.entries if kind in _defaults_of(entry)), None)


def link_kind(incident: IncidentRecord) -> str:
    """Link type of the incident, from its field or else from the component id; "" when unknown."""
    interface = parse_component(incident.isolated_component).interface
    return incident.link_type.strip().casefold() or link_type_of(interface)


def load_catalogue(folder: Path) -> Catalogue:
    """Read and validate every `*.yaml` of a folder, one entry a file; BadInputError names what is wrong."""
    files = sorted(folder.glob("*.yaml"))
    if not files:
        raise BadInputError(
            f"no parts catalogue: {folder} holds no *.yaml file",
            "run from a checkout of the project, or put the catalogue files there",
        )
    entries = [_entry(file) for file in files]
    try:
        return Catalogue(entries=tuple(entries))
    except ValidationError as error:
        raise BadInputError(f"parts catalogue {folder}: {_first(error)}", _REMEDY) from error


_REMEDY = "correct the catalogue file; docs and the shipped entries show the shape"


def _entry(file: Path) -> CatalogueEntry:
    try:
        content: Any = yaml.safe_load(file.read_text(encoding="utf-8"))
        return CatalogueEntry.model_validate(content)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadInputError(
            f"parts catalogue {file}: no readable YAML ({error})", _REMEDY
        ) from error
    except ValidationError as error:
        raise BadInputError(f"parts catalogue {file}: {_first(error)}", _REMEDY) from error


def _first(error: ValidationError) -> str:
    problem = error.errors()[0]
    where = ".".join(str(part) for part in problem["loc"]) or "as a whole"
    return f"{where}: {problem['msg']}"


def _defaults_of(entry: CatalogueEntry) -> tuple[str, ...]:
    return entry.link_types if entry.default_for_its_link_types else ()
