"""Invented state readings for the link-state rules."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from fabric_pipeline.detect.link_state import evaluate_link_state
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.records import Reading

START = datetime(2026, 11, 20, 6, tzinfo=UTC)
SXM, PCIE, NO_NAME = "NVIDIA H100 80GB HBM3", "NVIDIA A100 80GB PCIe", ""


def state(
    interface: str,
    counter: str,
    value: float | None,
    words: str = "",
    *,
    node: str = "n1",
    file: str = "a.txt",
    product: str = "",
    minute: int | None = None,
    uuid: str = "",
    link_type: str = "",
) -> Reading:
    """One state reading; the line is made from the value so that evidence can be checked."""
    text = f"{words} [{product}]".strip() if product else words
    reading = Reading(7, counter, str(value), node=node, interface=interface, counter=counter)
    reading.value, reading.kind, reading.state, reading.file = value, "gauge", text, file
    reading.quality = "ok" if value is not None else "not_supported"
    reading.time = None if minute is None else START + timedelta(minutes=minute)
    reading.gpu_uuid, reading.link_type = uuid, link_type
    return reading


def links(
    gpu: int, total: int, down: Sequence[int] = (), product: str = SXM, **more: str
) -> list[Reading]:
    """States of the links 0..total-1 of a GPU, those in `down` inactive."""
    return [
        state(
            f"gpu{gpu}/nvlink-{n}",
            "link_up",
            0.0 if n in down else 1.0,
            "<inactive>" if n in down else "active",
            product=product,
            **more,  # type: ignore[arg-type]
        )
        for n in range(total)
    ]


def dead(gpu: int, product: str = SXM, **more: str) -> Reading:
    """The sentence that all links of a GPU are inactive."""
    words = "all links are inActive"
    return state(f"gpu{gpu}", "link_up", 0.0, words, product=product, **more)  # type: ignore[arg-type]


def accused(readings: Sequence[Reading]) -> dict[str, tuple[str, str]]:
    """Accused component -> (kind, severity)."""
    found = [f for f in evaluate_link_state(readings) if f.accuses]
    assert all(f.evidence and f.reason.endswith(".") for f in found)
    return {f.component: (f.kind, f.severity) for f in found}


def only(readings: Sequence[Reading]) -> Finding:
    """The single finding."""
    (finding,) = evaluate_link_state(readings)
    return finding
