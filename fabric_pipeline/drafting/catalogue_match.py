"""Which catalogue entry fits an incident: by fault, by part reference, by what is known of the platform.

A fact that speaks against an entry excludes it, a fact that is not known counts for nothing, and a tie
goes to the more general entry: a technician with the wrong part loses more than one with a question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from fabric_pipeline.drafting.catalogue_entry import CatalogueEntry
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.model.components import link_type_of, parse_component

# A name of platform, model or medium decides alone; two counts together do, one does not: twelve
# NVLinks are on an HGX A100 board and on bridged A100 cards, eighteen on three generations of boards.
_BY_NAME = 2
_BY_COUNT = 1
_ENOUGH = 2

_NOISE = re.compile(r"[^a-z0-9*]+")


def entry_for(entries: Sequence[CatalogueEntry], incident: IncidentRecord) -> CatalogueEntry | None:
    """The one entry that fits, None when none fits or several fit equally well."""
    kind = link_kind(incident)
    for entry in entries:
        if incident.fault_type in entry.fault_types and {kind, "any"} & set(entry.link_types):
            return entry
    candidates = [entry for entry in entries if kind in entry.link_types]
    scores = {entry.entry_id: _score(entry, candidates, incident) for entry in candidates}
    for reference in (incident.part_reference, incident.cable.part_number):
        for entry in candidates:
            if entry.answers_to(reference) and scores[entry.entry_id] is not None:
                return entry
    fitting = [
        (score, entry)
        for entry in candidates
        if (score := scores[entry.entry_id]) is not None and score >= _ENOUGH
    ]
    best = max((score for score, _ in fitting), default=0)
    leaders = [entry for score, entry in fitting if score == best]
    return leaders[0] if len(leaders) == 1 else None


def link_kind(incident: IncidentRecord) -> str:
    """Link type of the incident, from its field or else from the component id; "" when unknown."""
    interface = parse_component(incident.isolated_component).interface
    return incident.link_type.strip().casefold() or link_type_of(interface)


def _score(
    entry: CatalogueEntry, candidates: Iterable[CatalogueEntry], incident: IncidentRecord
) -> int | None:
    """How much speaks for the entry; None when a known fact speaks against it."""
    names = _name_score(entry, list(candidates), incident)
    counts = _count_score(entry, incident)
    if names is None or counts is None:
        return None
    stated = (incident.platform.stated, incident.platform.gpu_model)
    # A machine with a name that the catalogue does not know is not guessed from its counts.
    if names:
        return names + counts
    return 0 if any(stated) else counts


def _name_score(
    entry: CatalogueEntry, candidates: Sequence[CatalogueEntry], incident: IncidentRecord
) -> int | None:
    facts, score = incident.platform, 0
    named = {
        "platforms": facts.stated,
        "gpu_models": facts.gpu_model,
        "nic_models": facts.nic_model,
        "media": incident.cable.medium,
    }
    for field, stated in named.items():
        if _names(entry, field, stated):
            score += _BY_NAME
        elif getattr(entry.fits, field) and any(
            _names(other, field, stated) for other in candidates
        ):
            return None  # the catalogue knows this name: it belongs to another entry
    connectors = entry.fits.connectors
    if connectors and incident.cable.connector:
        if not _names(entry, "connectors", incident.cable.connector):
            return None
        score += _BY_COUNT
    return score


def _names(entry: CatalogueEntry, field: str, stated: str) -> bool:
    text = _plain(stated)
    patterns = getattr(entry.fits, field)
    return bool(text) and any(fnmatchcase(text, _plain(pattern)) for pattern in patterns)


def _plain(text: str) -> str:
    """`h100 80gb hbm3` for `NVIDIA H100-80GB-HBM3`."""
    return _NOISE.sub(" ", text[:200].casefold().replace("nvidia", " ")).strip()


def _count_score(entry: CatalogueEntry, incident: IncidentRecord) -> int | None:
    facts, fits, score = incident.platform, entry.fits, 0
    for wanted, counted in (
        (fits.nvlinks_of_gpu, facts.nvlinks_of_gpu),
        (fits.nvswitches_of_gpu, facts.nvswitches_of_gpu),
    ):
        if not wanted or counted is None:
            continue
        if counted > max(wanted):
            return None
        # A topology may list only some of the links, so a lower count speaks for nothing.
        score += _BY_COUNT if counted in wanted else 0
    exact: tuple[tuple[Sequence[object], object], ...] = (
        (fits.nvlink_far_ends, facts.nvlink_far_end or None),
        (fits.speeds_gbps, facts.speed_gbps),
    )
    for alternatives, known in exact:
        if alternatives and known is not None:
            if known not in alternatives:
                return None
            score += _BY_COUNT
    return score
