"""Where each field of a ticket comes from, nested fields included, and the letter that forms print.

The table of the top level is `incidents.ticket.FIELD_ORIGINS`; here it is spread over the whole model,
so that every form and the published JSON say the same.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from fabric_pipeline.incidents.ticket import FIELD_ORIGINS, DraftText, Origin, TicketDraft

LETTERS: dict[Origin, str] = {
    "topology": "T",
    "telemetry": "M",
    "catalogue": "C",
    "drafted": "D",
    "rule": "R",
    "ledger": "L",
}
MEANINGS: dict[Origin, str] = {
    "topology": "topology file",
    "telemetry": "telemetry",
    "catalogue": "parts catalogue",
    "drafted": "drafted",
    "rule": "rule of the diagnosis",
    "ledger": "reported by people",
}
# Fields inside another field that have an origin of their own.
_NESTED: dict[str, Origin] = {
    "parts[].spare_location": "topology",
    "topology_finding.agrees_with_isolation": "rule",
}
# About the draft itself, not about the fault: who wrote it, from what, at which cost.
ACCOUNTS = frozenset(
    {
        "ticket_id", "incident_id", "drop", "schema_version", "drafter", "drafter_note", "edited_by",
        "model", "effort", "prompt_version", "requests", "input_tokens", "output_tokens",
        "cache_read_tokens", "cache_write_tokens", "cost_usd", "failed_attempts", "evidence_sha256",
        "basis_sha256",
    }
)  # fmt: skip


def letter(name: str) -> str:
    """The letter of a field, by its name in `FIELD_ORIGINS` or its path inside the ticket."""
    return LETTERS[_NESTED.get(name) or FIELD_ORIGINS[name]]


def origins_by_path() -> dict[str, Origin]:
    """Path of every field that a form shows, such as `parts[].spare_location`, with its origin."""
    paths: dict[str, Origin] = {}
    for name, field in TicketDraft.model_fields.items():
        if name == "text":
            for inner, text_field in DraftText.model_fields.items():
                _spread(paths, f"text.{inner}", FIELD_ORIGINS[inner], text_field.annotation)
        elif name not in ACCOUNTS:
            _spread(paths, name, FIELD_ORIGINS[name], field.annotation)
    return paths


def _spread(paths: dict[str, Origin], path: str, origin: Origin, annotation: Any) -> None:
    paths[path] = _NESTED.get(path, origin)
    model, mark = _model_in(annotation)
    for name, field in model.model_fields.items() if model else ():
        _spread(paths, f"{path}{mark}.{name}", origin, field.annotation)


def _model_in(annotation: Any) -> tuple[type[BaseModel] | None, str]:
    """The model inside `Model`, `Model | None` or `list[Model]`, and `[]` for a list."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, ""
    mark = "[]" if getattr(annotation, "__origin__", None) is list else ""
    for inner in getattr(annotation, "__args__", ()):
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            return inner, mark
    return None, ""
