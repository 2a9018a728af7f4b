"""One entry of the parts catalogue as a validated model: parts, order of repair, safety, tests, return form.

Choosing an entry for an incident is in `drafting.catalogue_match`, reading the files in
`drafting.catalogue`. Nothing here knows an incident.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from fabric_pipeline.drafting.forbidden import forbidden
from fabric_pipeline.incidents.record import FaultType

# What a text of the catalogue may leave open; `drafting.places` fills it from the incident.
PLACEHOLDERS = frozenset({"near", "far", "port", "node", "gpu", "cable", "twin"})
LinkType = Literal["nvlink", "pcie", "infiniband", "roce", "any"]
# Facts that a return form may be filled with; `attach` and `ask` stay for a person.
RmaSource = Literal[
    "node", "node_serial", "asset_tag", "gpu_serial", "gpu_part_number", "gpu_uuid", "gpu_slot", "pci_address", "nic_serial",
    "nic_part_number", "switch_port", "switch_serial", "cable_id", "cable_serial", "part_number", "component", "fault", "first_seen",
    "last_seen", "rules", "evidence", "earlier_repairs", "customer_reference", "attach", "ask",
]  # fmt: skip

_PLACEHOLDER = re.compile(r"\{([^{}]{0,40})\}")
# A draft holds ten steps; identifying the part and closing the ticket take two of them.
MAX_STEPS = 8
_Sentence = Annotated[str, StringConstraints(min_length=1, max_length=400)]


class KnownPart(BaseModel):
    """A part that the topology may name, with its public vendor number and where that is published."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    reference: str = Field(min_length=1, max_length=80)
    part_number: str = Field(min_length=1, max_length=80)
    description: str = Field(min_length=1, max_length=160)
    source: str = Field(min_length=1, max_length=300)
    part: str = Field(default="", description="Name of the entry's part that this is a type of")


class PartOption(BaseModel):
    """One replaceable part, in the order in which it would be exchanged."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=120)
    part_number: str = Field(default="", max_length=80, description="Public vendor number, if any")
    quantity: int = Field(default=1, ge=1, le=99)
    source: str = Field(default="", max_length=300, description="Where the number is published")
    references: tuple[str, ...] = Field(
        default=(), description="Names of this part in the topology's list of spares"
    )

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        if self.part_number and not self.source:
            raise ValueError(f"part_number {self.part_number} has no source: say where it is published")  # fmt: skip
        return self


class CatalogueStep(BaseModel):
    """One step of the repair order; a done repair is reported under `action`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    action: str = Field(pattern=r"^[a-z][a-z0-9_]{1,59}$")
    do: str = Field(min_length=1, max_length=400)
    proves: str = Field(min_length=1, max_length=400)
    part: str = Field(default="", description="Name of the part that this step exchanges")


class RmaNeed(BaseModel):
    """One item that the vendor's return form asks for, and where its value comes from."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    item: str = Field(min_length=1, max_length=200)
    source: RmaSource = Field(alias="from")


class Fits(BaseModel):
    """What must be known of a link for this entry to be chosen without a part reference.

    Patterns are compared without letter case, `*` stands for anything; lists are alternatives.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    platforms: tuple[str, ...] = ()
    gpu_models: tuple[str, ...] = ()
    nic_models: tuple[str, ...] = ()
    media: tuple[str, ...] = ()
    connectors: tuple[str, ...] = ()
    nvlinks_of_gpu: tuple[int, ...] = ()
    nvswitches_of_gpu: tuple[int, ...] = ()
    nvlink_far_ends: tuple[Literal["gpu", "nvswitch", "switch"], ...] = ()
    speeds_gbps: tuple[float, ...] = ()


class CatalogueEntry(BaseModel):
    """One kind of link on one platform. Texts may hold the placeholders of `PLACEHOLDERS`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    entry_id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,60}$")
    title: str = Field(min_length=1, max_length=120)
    link_types: tuple[LinkType, ...] = Field(min_length=1)
    default_for_its_link_types: bool = False
    fault_types: tuple[FaultType, ...] = ()
    part_references: tuple[str, ...] = ()
    fits: Fits = Field(default_factory=Fits)
    known_parts: tuple[KnownPart, ...] = ()
    replaceable_part: str = Field(min_length=1, max_length=400)
    parts: tuple[PartOption, ...] = Field(default=(), max_length=8)
    sources: tuple[str, ...] = ()
    tools: tuple[_Sentence, ...] = Field(min_length=1)
    safety: tuple[_Sentence, ...] = Field(min_length=1)
    drain_scope: Literal["none", "link", "node", "nodes"]
    drain: str = Field(min_length=1, max_length=400)
    port_isolation: str = Field(min_length=1, max_length=600)
    repair_steps: tuple[CatalogueStep, ...] = Field(min_length=1, max_length=MAX_STEPS)
    test_after_repair: str = Field(min_length=1, max_length=400)
    pass_criteria: tuple[_Sentence, ...] = Field(min_length=1)
    rollback: str = Field(min_length=1, max_length=320)
    rma: tuple[RmaNeed, ...] = ()

    @model_validator(mode="after")
    def _check_texts(self) -> Self:
        for field, text in self._texts():
            unknown = set(_PLACEHOLDER.findall(text)) - PLACEHOLDERS
            if unknown:
                known = ", ".join(sorted(PLACEHOLDERS))
                raise ValueError(f"{field}: unknown placeholder {sorted(unknown)}, known are {known}")  # fmt: skip
            if reasons := forbidden(text):
                raise ValueError(f"{field}: {reasons[0]}: {text[:80]}")
        if not any(char.isdigit() for text in self.pass_criteria for char in text):
            raise ValueError("pass_criteria hold no figure, so nobody could tell pass from fail")
        return self

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        actions = [step.action for step in self.repair_steps]
        if twice := sorted({name for name in actions if actions.count(name) > 1}):
            raise ValueError(f"repair_steps: action stated twice: {', '.join(twice)}")
        names = [part.name for part in self.parts]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"parts: name stated twice: {', '.join(twice)}")
        wanted = {step.part for step in self.repair_steps} | {one.part for one in self.known_parts}
        if strange := sorted(wanted - {"", *names}):
            raise ValueError(f"repair_steps and known_parts name a part that parts does not list: {', '.join(strange)}")  # fmt: skip
        return self

    def worded(self) -> list[str]:
        """Every text that a technician reads on the ticket."""
        return [text for _, text in self._texts()]

    def _texts(self) -> Iterator[tuple[str, str]]:
        for field in (
            "title",
            "replaceable_part",
            "drain",
            "port_isolation",
            "test_after_repair",
            "rollback",
        ):
            yield field, getattr(self, field)
        for field in ("tools", "safety", "pass_criteria"):
            for number, text in enumerate(getattr(self, field)):
                yield f"{field}.{number}", text
        for number, step in enumerate(self.repair_steps):
            yield f"repair_steps.{number}.do", step.do
            yield f"repair_steps.{number}.proves", step.proves
        yield from ((f"parts.{n}.name", part.name) for n, part in enumerate(self.parts))
        yield from ((f"rma.{n}.item", need.item) for n, need in enumerate(self.rma))

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
