"""Which links an incident names: the accused one, those that were weighed against it, and those of its symptoms.

Public: `implicated` for charts, and `link_of` for the link that a page of the incident leads to.
"""

from __future__ import annotations

from collections.abc import Iterator

from fabric_pipeline.errors import NotFoundError
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.workflows.fabric_view_model import FabricView, Link
from fabric_pipeline.workflows.link_view import find_link


def implicated(view: FabricView, record: IncidentRecord) -> list[Link]:
    """Links of this drop that the record names, the accused one first, each once."""
    found: dict[str, Link] = {}
    for link in (*_carrying(view, record), *_named(view, record)):
        found.setdefault(link.link_id, link)
    return list(found.values())


def link_of(view: FabricView | None, record: IncidentRecord) -> str:
    """The link that an incident is about, as the map names it; "" when it is about no link."""
    if view is not None and view.drop == record.drop:
        for link in _carrying(view, record):
            return link.link_id
    is_link = record.isolated_component not in ("", "none") and record.link_type
    return record.isolated_component.partition("/lane-")[0] if is_link else ""


def _carrying(view: FabricView, record: IncidentRecord) -> Iterator[Link]:
    return (link for link in view.degraded() if record.incident_id in link.incidents)


def _named(view: FabricView, record: IncidentRecord) -> Iterator[Link]:
    """Links at the components that the record names; words that name none are passed over."""
    names = [record.isolated_component, record.far_end]
    names += [one.explanation for one in record.alternatives]
    names += [one.component for one in record.symptoms]
    for name in names:
        # A device or a sentence is no link end; searching all links for it would find none.
        if ":" not in name or "/" not in name:
            continue
        try:
            yield find_link(view, name)
        except NotFoundError:
            continue
