"""The parts catalogue as a whole: reading the site's YAML files, and the entry for an incident.

It is validated as a whole and alone may state a part number; no drafter, human-written rule or model,
adds one. The shape of an entry is in `drafting.catalogue_entry`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from fabric_pipeline.drafting.catalogue_entry import (
    CatalogueEntry,
    CatalogueStep,
    KnownPart,
    PartOption,
)
from fabric_pipeline.drafting.catalogue_match import entry_for, link_kind
from fabric_pipeline.errors import BadInputError
from fabric_pipeline.incidents.record import IncidentRecord

__all__ = [
    "NO_PART_NUMBER",
    "Catalogue",
    "CatalogueEntry",
    "CatalogueStep",
    "KnownPart",
    "PartOption",
    "catalogue_problems",
    "catalogue_schema",
    "link_kind",
    "load_catalogue",
    "named_part",
]

NO_PART_NUMBER = "no part number in the catalogue"
_REMEDY = (
    "correct that field of the file; docs/how_to/parts_catalogue.md and the shipped entries show the shape, "
    "and `fabric-pipeline catalogue check` reads the folder again"
)
_EMPTY_REMEDY = (
    "run from a checkout of the project, or let FABRIC_CATALOGUE name the folder of your catalogue"
)
# One mistake tends to be in every file; a list of more problems than this is not read to its end.
_MOST_PROBLEMS = 40


class Catalogue(BaseModel):
    """All entries; exactly one of them answers for links that no other entry knows."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    entries: tuple[CatalogueEntry, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check_unique(self) -> Self:
        defaults = [f"default for {kind}" for e in self.entries for kind in _defaults_of(e)]
        ids = [entry.entry_id for entry in self.entries]
        names = [name for entry in self.entries for name in _names_of(entry)]
        for group in (ids, names, defaults):
            twice = sorted(name for name, count in Counter(group).items() if count > 1)
            if twice:
                raise ValueError(f"stated by more than one entry: {', '.join(twice)}")
        if "default for any" not in defaults:
            raise ValueError("no entry with link_types: [any] and default_for_its_link_types: true")
        return self

    def entry_for(self, incident: IncidentRecord) -> CatalogueEntry:
        """The entry for the incident: by fault type, part reference, platform, else the general one."""
        found = entry_for(self.entries, incident)
        return found or self._default(link_kind(incident)) or self.fallback

    @property
    def fallback(self) -> CatalogueEntry:
        """The entry that says there is no entry."""
        return next(entry for entry in self.entries if "any" in _defaults_of(entry))

    def _default(self, kind: str) -> CatalogueEntry | None:
        return next((entry for entry in self.entries if kind in _defaults_of(entry)), None)


class _StrictLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """The safe loader in C where there is one, which refuses a key that stands twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise yaml.constructor.ConstructorError(
                None, None, f"the key {twice!r} stands twice", node.start_mark
            )
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


def load_catalogue(folder: Path) -> Catalogue:
    """Read and validate every `*.yaml` of a folder, one entry a file; BadInputError names what is wrong."""
    catalogue, problems = _read(folder)
    if catalogue is None:
        raise BadInputError(
            f"parts catalogue {problems[0]}", _REMEDY if _files(folder) else _EMPTY_REMEDY
        )
    return catalogue


def catalogue_problems(folder: Path) -> list[str]:
    """Everything that is wrong with a catalogue, each with file and field; empty when it can be used."""
    return _read(folder)[1][:_MOST_PROBLEMS]


def catalogue_schema() -> dict[str, Any]:
    """JSON Schema of one file of the catalogue."""
    return CatalogueEntry.model_json_schema(by_alias=True)


def named_part(entry: CatalogueEntry, incident: IncidentRecord) -> KnownPart | None:
    """The part with a public number that the topology names, by its part reference or cable part number."""
    return entry.known_part(incident.part_reference) or entry.known_part(incident.cable.part_number)


def _read(folder: Path) -> tuple[Catalogue | None, list[str]]:
    files = _files(folder)
    if not files:
        return None, [f"{folder} holds no *.yaml file"]
    entries, problems = [], []
    for file in files:
        entry, found = _entry(file)
        entries += [entry] if entry else []
        problems += [f"{file}: {problem}" for problem in found]
    if problems:
        return None, problems
    try:
        return Catalogue(entries=tuple(entries)), []
    except ValidationError as error:
        return None, [f"{folder}: {problem}" for problem in _problems(error)]


def _files(folder: Path) -> list[Path]:
    return sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")])


def _entry(file: Path) -> tuple[CatalogueEntry | None, list[str]]:
    try:
        content: Any = yaml.load(file.read_text(encoding="utf-8"), _StrictLoader)  # noqa: S506 (safe loader)
        return CatalogueEntry.model_validate(content), []
    except ValidationError as error:
        return None, _problems(error)
    except (yaml.YAMLError, ValueError, RecursionError, OSError) as error:
        return None, [f"no readable YAML ({' '.join(str(error).split())[:300]})"]


def _problems(error: ValidationError) -> list[str]:
    return [
        f"{'.'.join(str(part) for part in one['loc']) or 'as a whole'}: {one['msg']}"
        for one in error.errors()
    ]


def _names_of(entry: CatalogueEntry) -> set[str]:
    """Names by which a topology may mean this entry, once each."""
    parts = {part.reference.casefold() for part in entry.known_parts}
    return {entry.entry_id, *(name.casefold() for name in entry.part_references), *parts}


def _defaults_of(entry: CatalogueEntry) -> tuple[str, ...]:
    return entry.link_types if entry.default_for_its_link_types else ()
