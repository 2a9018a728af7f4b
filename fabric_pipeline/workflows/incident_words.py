"""What a list or a page says of an incident in few words: the fault, the time lost, how sure it is.

A link that is only watched is called by what was counted, never by a fault that nobody has shown.
"""

from __future__ import annotations

from fabric_pipeline.incidents.record import IncidentRecord

NO_DATA = "no_data"
_WATCHED = {"physical_link_degradation": "errors without a known effect"}
_SECONDS_BELOW_H = 0.1


def fault_words(record: IncidentRecord) -> str:
    """The fault of an accused part; of a watched one what was seen."""
    said = record.fault_type.replace("_", " ")
    if record.severity == "WATCH" and record.role != "cause":
        return _WATCHED.get(record.fault_type, said)
    return said


def component_words(record: IncidentRecord) -> str:
    """The component, or the node alone where nothing of it was heard."""
    component = record.isolated_component
    return component.removesuffix(":unknown") if record.fault_type == NO_DATA else component


def time_lost(gpu_hours: float | None) -> str:
    """GPU time as people say it: seconds when it is short; "not measured" for None."""
    if gpu_hours is None:
        return "not measured"
    if gpu_hours < _SECONDS_BELOW_H:
        return f"{gpu_hours * 3600:.3g} GPU-s"
    return f"{gpu_hours:,.3g} GPU-h" if gpu_hours < 1000 else f"{gpu_hours:,.0f} GPU-h"


def confidence_words(record: IncidentRecord) -> str:
    """`0.99`, or "none" where nothing was measured that one could be sure of."""
    return "none" if record.fault_type == NO_DATA else f"{record.confidence:.2f}"
