"""Evidence of machines that no file names, kept apart: two unnamed hosts are never one link.

Which files may be of different machines is decided by `model.captures`; here the evidence is dealt out, so
that every rule compares within one machine only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from fabric_pipeline.diagnose.evidence import Evidence
from fabric_pipeline.model.components import is_unnamed
from fabric_pipeline.model.records import UnknownFact
from fabric_pipeline.model.topology import Topology


class _Placed(Protocol):
    @property
    def node(self) -> str: ...
    @property
    def interface(self) -> str: ...
    @property
    def file(self) -> str: ...


_T = TypeVar("_T", bound=_Placed)


def by_machine(evidence: Evidence) -> list[tuple[str, Evidence]]:
    """(machine, its evidence); "" holds all that is named, and everything when one machine was captured."""
    names = sorted(set(evidence.machines.values()))
    if not names:
        return [("", evidence)]
    named = _part(evidence, "")
    return [("", named), *((name, _emptied(_part(evidence, name))) for name in names)]


def unnamed_hosts(machines: Mapping[str, str]) -> list[UnknownFact]:
    """That nobody says whether these files are of one host."""
    if not machines:
        return []
    files = sorted(machines)
    named = ", ".join(files[:6]) + (f" and {len(files) - 6} more" if len(files) > 6 else "")
    reason = (
        f"{named} state no host or no device and may be of {len(set(machines.values()))} different ones: each "
        "is judged by itself, and nothing is compared between them; name the host in drop.yaml or in the folder"
    )
    return [UnknownFact("", "", "name of the host", reason)]


def _part(evidence: Evidence, machine: str) -> Evidence:
    def own(items: Iterable[_T]) -> Sequence[_T]:
        return [one for one in items if _machine_of(one, evidence.machines) == machine]

    return replace(
        evidence,
        spikes=own(evidence.spikes),
        events=own(evidence.events),
        states=own(evidence.states),
        port_snapshots=own(evidence.port_snapshots),
    )


def _emptied(part: Evidence) -> Evidence:
    """Without what is told of runs and named hosts, which is judged once.

    The map holds one node without a name, whichever machine that was, so it says nothing of any.
    """
    return replace(
        part,
        stragglers=(),
        correlations=(),
        sweeps=(),
        absences=(),
        unknown=(),
        topology=Topology(),
    )


def _machine_of(one: _Placed, machines: Mapping[str, str]) -> str:
    return machines.get(one.file, "") if is_unnamed(one.node, one.interface) else ""
