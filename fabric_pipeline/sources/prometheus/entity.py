"""Which host, GPU, link or switch the labels of a series name, across all spellings of exporters.

Labels differ in case and name between exporter versions and gain `exported_` when Prometheus
scrapes them. What a metric counts is not decided here.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from fabric_pipeline.model.components import normalise_pci
from fabric_pipeline.model.records import MAX_TEXT
from fabric_pipeline.sources.prometheus.measure import LINK_MARK

# Tried in this order; `instance` is the scraped address and often that of a pod.
_HOST_LABELS = (
    "hostname",
    "exported_hostname",
    "nodename",
    "kubernetes_node",
    "node_name",
    "node",
    "exported_node",
    "host",
    "instance",
)
_POD_LABELS = ("pod", "pod_name", "kubernetes_pod_name", "exported_pod", "container_id")
_CONTAINER_ID = re.compile(r"[0-9a-f]{12}(?:[0-9a-f]{52})?")
_EXPORTER = re.compile(r"exporter|gpu-operator|hostengine", re.IGNORECASE)
_LOCAL = frozenset({"localhost", "localhost.localdomain", "unknown"})
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")
_DIGITS = re.compile(r"\d{1,4}")


@dataclass(frozen=True, slots=True)
class Entity:
    """What one set of labels names.

    `gpu` is `gpu<N>`, `pci-<bdf>` when only the address is known, or "". `switch` is
    `nvswitch-<N>` or "". `doubt` says why `node` is "" although a label offers a name. `origin`
    keeps apart machines that share device names. `labels` are the given ones with lower-case names.
    """

    node: str
    doubt: str
    gpu: str
    uuid: str
    link: int | str | None
    switch: str
    origin: str
    text: str
    labels: dict[str, str]


class Entities:
    """Entities by label text, each worked out once. `node` given by the surroundings wins."""

    def __init__(self, node: str = "") -> None:
        self._node = node
        self._known: dict[str, Entity] = {}
        self._latest: tuple[dict[str, str], Entity] | None = None

    def of(self, label_text: str, labels: dict[str, str]) -> Entity:
        """The entity of one series."""
        entity = self._known.get(label_text)
        if entity is None:
            entity = self._known[label_text] = self._make(label_text, labels)
        return entity

    def make(self, labels: dict[str, str]) -> Entity:
        """The entity of these labels without their text; the number of a link may be `LINK_MARK`.

        Only the latest is kept: metrics of several shapes ask for the same labels in turn.
        """
        if self._latest is None or self._latest[0] is not labels:
            self._latest = (labels, self._make("", labels))
        return self._latest[1]

    def _make(self, label_text: str, labels: dict[str, str]) -> Entity:
        folded = {name.lower(): value for name, value in labels.items()}
        node, doubt = host_of(folded)
        uuid = _first(folded, "uuid", "gpu_uuid", "exported_uuid")
        return Entity(
            node=self._node or node,
            doubt="" if self._node else doubt,
            gpu=_gpu(folded),
            uuid=uuid,
            link=_link(folded.get("nvlink", folded.get("link", ""))),
            switch=_switch(folded),
            origin=uuid + "|" + folded.get("instance", ""),
            text=label_text[:MAX_TEXT],
            labels=folded,
        )


def host_of(labels: dict[str, str]) -> tuple[str, str]:
    """Host name and "", or "" and why no label names the host. Label names are lower case."""
    doubt = "no label names the host"
    pods = {labels[name] for name in _POD_LABELS if labels.get(name)}
    for label in _HOST_LABELS:
        value = labels.get(label, "").strip()
        if label == "instance":
            value = _without_port(value)
            if not value or _is_address(value):
                continue
        if not value:
            continue
        objection = "names the exporter's pod" if value in pods else _objection(value)
        if not objection:
            return value, ""
        if doubt.startswith("no label"):
            doubt = f"the label {label} holds {value[:80]!r}, which {objection}"
    return "", doubt


def _objection(value: str) -> str:
    if _CONTAINER_ID.fullmatch(value.lower()):
        return "is a container id, not a host"
    if _EXPORTER.search(value):
        return "names the exporter, not a host"
    if value.lower() in _LOCAL or value.startswith("127.") or value in ("::1", "0.0.0.0"):  # noqa: S104
        return "says where the exporter looked, not which host it is"
    if not _HOST.fullmatch(value):
        return "is not spelt like a host name"
    return ""


def _without_port(value: str) -> str:
    host, colon, port = value.rpartition(":")
    return host.strip("[]") if colon and port.isdigit() else value


def _is_address(value: str) -> bool:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return True


def _gpu(labels: dict[str, str]) -> str:
    for value in (labels.get("gpu", ""), labels.get("device", "")):
        index = _number(value.lower().removeprefix("nvidia").removeprefix("gpu"))
        if index is not None:
            return f"gpu{index}"
    address = _first(labels, "pci_bus_id", "pcibusid", "pci_busid")
    return f"pci-{normalise_pci(address)}" if address else ""


def _switch(labels: dict[str, str]) -> str:
    index = _number(labels.get("nvswitch", "").lower().removeprefix("nvswitch").lstrip("-"))
    return f"nvswitch-{index}" if index is not None else ""


def _link(text: str) -> int | str | None:
    return text if text == LINK_MARK else _number(text)


def _number(text: str) -> int | None:
    return int(text) if _DIGITS.fullmatch(text) and text.isascii() else None


def _first(labels: dict[str, str], *names: str) -> str:
    return next((labels[name] for name in names if labels.get(name)), "")
