"""What a topology states around one link: places, cable, platform, service desk, spares.

Everything here is copied from the topology into the record; nothing is derived from names, and what
no source states stays empty. The rest of a record is made in `incidents.build`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from fabric_pipeline.incidents.record import (
    CableFacts,
    Place,
    PlatformFacts,
    Priority,
    ServiceFacts,
    Spare,
)
from fabric_pipeline.model.components import component_id, device_of, gpu_index, parse_component
from fabric_pipeline.model.topology import Topology

# More spares than this for one link are a stock list, not a help.
_MAX_SPARES = 20
# Twin-port cages carry the cage in front of the port: OSFP1P1 and OSFP1P2 (DGX H100 user guide).
_TWIN_LABEL = re.compile(r"^(?P<cage>OSFP[A-Z]{0,4}\d{1,3})[-_/. ]?P(?P<port>\d)$", re.IGNORECASE)


def place_of(component: str, topology: Topology) -> Place:
    """Where one link end sits, and the device it belongs to."""
    parsed = parse_component(component)
    where, device = topology.place(component), topology.device(component)
    gpu = gpu_index(parsed.interface)
    own = "gpu" if gpu is not None else "nic" if device.get("hca") else "switch"
    return Place(
        node=parsed.node,
        **{key: _text(where, key) for key in _WHERE},
        node_serial=_text(where, "serial"),
        socket=device.get("socket") if isinstance(device.get("socket"), int) else None,
        gpu=gpu if own == "gpu" else topology.gpu_beside(component),
        gpu_uuid=_text(device, "uuid") if own == "gpu" else "",
        gpu_serial=_text(device, "serial") if own == "gpu" else "",
        gpu_part_number=_text(device, "part_number") if own == "gpu" else "",
        gpu_slot=_text(device, "slot") if own == "gpu" else "",
        slot=_text(device, "slot") if own != "gpu" else "",
        nic_serial=_text(device, "serial") if own == "nic" else "",
        nic_part_number=_text(device, "part_number") if own == "nic" else "",
        pci=_text(device, "pci"),
        port_label=topology.port_label(component),
    )


_WHERE = ("site", "hall", "cage", "row", "rack", "unit", "face", "asset_tag")


def cable_of(component: str, topology: Topology) -> CableFacts:
    """The cable of the link; empty for a link that is no cable of its own."""
    link = topology.link_of(component)
    stated: Mapping[str, Any] = link.attributes if link else {}
    length = stated.get("length_m")
    return CableFacts(
        medium=_text(stated, "medium"),
        length_m=float(length) if isinstance(length, int | float) else None,
        connector=_text(stated, "connector"),
        colour=_text(stated, "colour"),
        serial=_text(stated, "cable_serial"),
        part_number=_text(stated, "cable_part_number"),
    )


def plug_twin(component: str, topology: Topology) -> str:
    """The other adapter port behind the same twin-port plug, "" unless the printed labels say so."""
    parsed = parse_component(component)
    if parsed.interface.endswith("/pcie"):
        return ""
    own = _TWIN_LABEL.match(topology.port_label(component).strip())
    if own is None:
        return ""
    nics = [
        nic
        for nic in topology.nodes.get(parsed.node, {}).get("nics") or []
        if isinstance(nic, dict)
    ]
    ends = [component_id(parsed.node, f"{nic['hca']}/1") for nic in nics if nic.get("hca")]
    labelled = [(end, _TWIN_LABEL.match(topology.port_label(end).strip())) for end in ends]
    twins = [
        end
        for end, label in labelled
        if label and label["cage"].upper() == own["cage"].upper() and label["port"] != own["port"]
    ]
    return twins[0] if len(twins) == 1 else ""


def links_of_device(component: str, topology: Topology) -> list[str]:
    """Ends of the links that the topology states for the device of a component, in its order."""
    node, device = _device(component)
    return topology.ends_of_device(node, device) if device else []


def platform_of(component: str, far_end: str, topology: Topology) -> PlatformFacts:
    """What tells which machine and link this is; the GPU is that of either end."""
    ends = [end for end in (component, far_end) if end]
    gpu_end = next((end for end in ends if _is_gpu(end)), "")
    nodes = [topology.nodes.get(parse_component(end).node, {}) for end in ends]
    link = topology.link_of(component)
    nvlinks = topology.nvlinks_of(gpu_end) if gpu_end else []
    switches = {_device(far) for _, far in nvlinks if _far_kind(gpu_end, far) == "nvswitch"}
    nic = next((device for end in ends if (device := topology.device(end)).get("hca")), {})
    other = next((end for end in ends if end != gpu_end), "") if gpu_end else ""
    return PlatformFacts(
        stated=next((name for node in nodes if (name := _text(node, "platform"))), ""),
        gpu_model=_model(topology.device(gpu_end)) if gpu_end else _one_gpu_model(nodes),
        nic_model=_model(nic),
        nvlinks_of_gpu=len(nvlinks) or None,
        nvswitches_of_gpu=len(switches) or None,
        nvlink_far_end=_far_kind(gpu_end, other) if "/nvlink-" in gpu_end and other else "",
        speed_gbps=link.speed_gbps if link else None,
    )


def service_of(priority: Priority, topology: Topology) -> ServiceFacts:
    """Contact, schedule, reference, and the service level of this priority."""
    stated = topology.service
    sla = stated.get("sla")
    return ServiceFacts(
        contact=_text(stated, "contact"),
        schedule=_text(stated, "schedule"),
        customer_reference=_text(stated, "customer_reference"),
        sla=_text(sla, priority) if isinstance(sla, dict) else "",
    )


def spares_of(references: Iterable[str], topology: Topology) -> list[Spare]:
    """Spares whose `part` or `fits` is one of these part references, in the order of the list."""
    wanted = {text.strip().casefold() for text in references if text.strip()}
    fitting = [
        spare
        for spare in topology.spares
        if {_text(spare, key).strip().casefold() for key in ("part", "fits")} & wanted
    ]
    return [
        Spare(
            part=_text(spare, "part"),
            location=_text(spare, "location"),
            quantity=spare.get("quantity") if isinstance(spare.get("quantity"), int) else None,
            fits=_text(spare, "fits"),
        )
        for spare in fitting[:_MAX_SPARES]
    ]


def _text(stated: Mapping[str, Any], key: str) -> str:
    value = stated.get(key)
    return "" if value is None else str(value)


def _model(device: Mapping[str, Any]) -> str:
    return _text(device, "model")


def _one_gpu_model(nodes: Iterable[Mapping[str, Any]]) -> str:
    """The GPU model of the node, when all of its GPUs that state one state the same."""
    for node in nodes:
        gpus = [gpu for gpu in node.get("gpus") or [] if isinstance(gpu, dict)]
        models = {name for gpu in gpus if (name := _model(gpu))}
        if len(models) == 1:
            return models.pop()
    return ""


def _is_gpu(component: str) -> bool:
    return gpu_index(parse_component(component).interface) is not None


def _device(component: str) -> tuple[str, str]:
    parsed = parse_component(component)
    return parsed.node, device_of(parsed.interface)


def _far_kind(gpu_end: str, far: str) -> Literal["", "gpu", "nvswitch", "switch"]:
    """What an NVLink of this GPU ends on; a switch outside the node is a tray of its own."""
    near_node, (node, device) = parse_component(gpu_end).node, _device(far)
    if not far or not device:
        return ""
    if gpu_index(device) is not None:
        return "gpu"
    return "nvswitch" if node == near_node and device.startswith("nvswitch") else "switch"
