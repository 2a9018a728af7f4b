"""Rules on NVLink states of one node: inactive links, inactive GPUs, links no longer listed.

An unused NVLink looks like a dead one; what tells them apart is the model of the GPU, its siblings,
or an earlier capture. Without any of these a rule watches and does not accuse.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from fabric_pipeline.detect.link_state.history import NodeStates, State, evidence_of, words_of
from fabric_pipeline.detect.link_state.nvlink_view import DeviceLinks, devices_of, link_number
from fabric_pipeline.detect.link_state.thresholds import LinkStateLimits
from fabric_pipeline.detect.state_words import moment, since, up_or_down
from fabric_pipeline.model.components import component_id, natural_key
from fabric_pipeline.model.findings import Finding

_SHARED_CAUSES = [
    "the fabric manager is not running or has not finished",
    "the GPUs are set up without NVLink (MIG, confidential computing, a driver option)",
    "the NVSwitches or the baseboard have failed",
]
_BRIDGE_CAUSES = ["no bridge was ever fitted between these GPUs", "the bridge has failed"]


def nvlink_findings(states: NodeStates, limits: LinkStateLimits) -> list[Finding]:
    """Findings on all NVLink devices of a node; none is made for links that are up."""
    devices = devices_of(states)
    gpus = [device for device in devices if device.is_gpu]
    findings = list(chain(_dead_gpus(states.node, gpus, limits), _partial(states.node, gpus)))
    for device in devices:
        findings.extend(_unlisted(states.node, device))
        if device.off:
            findings.append(_disabled(states.node, device))
        if not device.is_gpu:
            findings.extend(_switch_ports(states.node, device))
    return findings


# --- whole GPUs ------------------------------------------------------------------------------


def _dead_gpus(node: str, gpus: list[DeviceLinks], limits: LinkStateLimits) -> Iterable[Finding]:
    dead = [gpu for gpu in gpus if gpu.all_down]
    alive = [gpu for gpu in gpus if gpu.up]
    if not dead:
        return []
    if alive:
        return [_dead_beside_others(node, gpu, alive, limits) for gpu in dead]
    return [_all_dead(node, dead)]


def _dead_beside_others(
    node: str, gpu: DeviceLinks, alive: list[DeviceLinks], limits: LinkStateLimits
) -> Finding:
    links = max(len(other.up) for other in alive)
    expected = gpu.was_up or gpu.fitting == "soldered"
    if gpu.fitting == "unknown" and links > limits.bridge_links_max:
        expected = True
    others = f"{len(alive)} other GPU{'s have' if len(alive) > 1 else ' has'} active NVLinks"
    reason = f"All NVLinks of {gpu.device} are inactive, while {others} (up to {links} each)"
    finding = Finding(
        component_id(node, gpu.device),
        "nvlink_all_inactive" if expected else "nvlink_not_bridged",
        "critical" if expected else "watch",
        "cause" if expected else "context",
        f"{reason}{_before(gpu)}.",
    )
    if not expected:
        finding.reason = f"{reason}; a GPU without a bridge looks the same, so it is not accused."
        finding.is_link = False
        finding.alternatives = list(_BRIDGE_CAUSES)
    finding.numbers = {"gpus_with_active_links": len(alive), "links_of_the_others": links}
    return _finish(finding, gpu, "link_state.nvlink_all_inactive")


def _before(gpu: DeviceLinks) -> str:
    if not gpu.was_up:
        return ""
    return f"; {len(gpu.was_up)} of its links were active in an earlier capture"


def _all_dead(node: str, dead: list[DeviceLinks]) -> Finding:
    """No GPU of the node has an active link: one cause they share, not a list of bad links."""
    first = dead[0]
    before = sum(len(gpu.was_up) for gpu in dead)
    expected = bool(before) or any(gpu.fitting == "soldered" for gpu in dead)
    names = ", ".join(gpu.device or "the GPU" for gpu in dead[:16])
    reason = f"All NVLinks of {names} are inactive and no GPU of the node has an active one"
    finding = Finding(
        component_id(node, first.device),
        "nvlink_all_inactive" if len(dead) == 1 else "nvlink_not_initialised",
        "critical" if expected else "watch",
        "cause" if expected else "context",
        reason,
        is_link=expected,
    )
    if before:
        finding.reason += f"; {before} links were active in an earlier capture."
    elif expected:
        finding.reason += "; on this GPU model the NVLinks are always connected."
    else:
        finding.reason += "; GPUs without bridge or NVSwitch look the same, so none is accused."
    shared = _SHARED_CAUSES if expected or first.fitting == "unknown" else _BRIDGE_CAUSES
    finding.alternatives = list(shared)
    finding.numbers = {"gpus_without_active_links": len(dead), "links_active_before": before}
    finding.rules = ["link_state.nvlink_not_initialised"]
    finding.evidence = evidence_of(_states(dead))
    _set_times(finding, dead)
    return _classed(finding)


# --- single links ----------------------------------------------------------------------------


def _partial(node: str, gpus: list[DeviceLinks]) -> list[Finding]:
    damaged = [gpu for gpu in gpus if gpu.up and gpu.down]
    if not damaged:
        return []
    with_links = [gpu for gpu in gpus if gpu.up or gpu.down]
    alike = len({gpu.down_numbers for gpu in with_links}) == 1
    if alike and len(with_links) > 1 and not any(gpu.was_up for gpu in damaged):
        return [_same_everywhere(node, damaged)]
    findings: list[Finding] = []
    total = sum(len(gpu.down) for gpu in damaged)
    for gpu in damaged:
        twins = [o for o in with_links if o is not gpu and o.down_numbers == gpu.down_numbers]
        if twins and gpu.fitting != "soldered" and not gpu.was_up:
            findings.append(_unbridged_links(node, gpu))
        else:
            findings.extend(_down_links(node, gpu, total))
    return findings


def _same_everywhere(node: str, damaged: list[DeviceLinks]) -> Finding:
    """The same links inactive on all GPUs: wiring, or one part that all of them share."""
    first = damaged[0]
    numbers = ", ".join(str(number) for number in sorted(first.down_numbers))
    accused = all(gpu.fitting == "soldered" for gpu in damaged)
    finding = Finding(
        component_id(node, first.device),
        "nvlink_inactive_on_all_gpus",
        "warning" if accused else "info",
        "cause" if accused else "context",
        f"NVLink {numbers} is inactive on all {len(damaged)} GPUs alike, while their other links "
        f"({len(first.up)} each) are active",
    )
    if accused:
        finding.reason += "; that points to one part that all GPUs share, such as an NVSwitch."
    else:
        finding.reason += "; links that nothing is connected to look like this."
    finding.numbers = {"gpus": len(damaged), "inactive_links_each": len(first.down)}
    finding.rules = ["link_state.nvlink_inactive_on_all_gpus"]
    finding.evidence = evidence_of(_states(damaged))
    return _classed(finding)


def _unbridged_links(node: str, gpu: DeviceLinks) -> Finding:
    numbers = ", ".join(str(number) for number in sorted(gpu.down_numbers))
    finding = Finding(
        component_id(node, gpu.device),
        "nvlink_unused_links",
        "watch",
        "context",
        f"NVLink {numbers} of {gpu.device} is inactive beside {len(gpu.up)} active ones, and "
        "another GPU shows the same; sockets without a bridge look like this.",
    )
    finding.numbers = {"inactive": len(gpu.down), "active": len(gpu.up)}
    return _finish(finding, gpu, "link_state.nvlink_unused_links")


def _down_links(node: str, gpu: DeviceLinks, total: int) -> list[Finding]:
    findings = []
    for interface, state in sorted(gpu.down.items(), key=lambda item: natural_key(item[0])):
        before = gpu.was_up.get(interface)
        listed = words_of(state.reading)
        word = up_or_down(state.reading) if listed == state.reading.state.strip() else listed
        began = since(gpu.since[interface].reading) if interface in gpu.since else ""
        reason = (
            f"NVLink {link_number(interface)} of {gpu.device or 'the GPU'} is {word}{began}, "
            f"while {len(gpu.up)} of its {len(gpu.up) + len(gpu.down)} links are active"
        )
        reason += f"; {_was_active(before)}." if before else "."
        finding = Finding(
            component_id(node, interface),
            "nvlink_inactive",
            "critical" if total > 1 else "warning",
            "cause",
            reason,
            evidence=evidence_of([gpu.since.get(interface), state, before]),
            rules=["link_state.nvlink_inactive"],
            first_seen=gpu.since[interface].reading.time if interface in gpu.since else None,
            last_seen=state.reading.time,
            numbers={"active_links": len(gpu.up), "inactive_links": len(gpu.down)},
        )
        findings.append(_classed(finding))
    return findings


def _was_active(before: State) -> str:
    when = moment(before.reading.time)
    return f"it was active on {when}" if when else "it was active in an earlier capture"


def _unlisted(node: str, device: DeviceLinks) -> Iterable[Finding]:
    """A link that was active and is skipped now is down; one behind a cut list is only watched."""
    last_listed = max((link_number(i) for i in [*device.up, *device.down, *device.off]), default=-1)
    for interface in sorted(device.unlisted, key=natural_key):
        skipped = link_number(interface) < last_listed
        reason = (
            f"NVLink {link_number(interface)} of {device.device} was active in an earlier capture "
            f"and the latest one does not list it"
        )
        ending = (
            f", although it lists links up to {last_listed}."
            if skipped
            else "; that listing may be cut, so the link is not accused."
        )
        finding = Finding(
            component_id(node, interface),
            "nvlink_disappeared",
            "warning" if skipped else "watch",
            "cause" if skipped else "context",
            reason + ending,
            evidence=evidence_of([device.was_up.get(interface), *device.up.values()])[:2],
            rules=["link_state.nvlink_disappeared"],
            numbers={"last_listed_link": last_listed},
        )
        yield _classed(finding)


def _disabled(node: str, device: DeviceLinks) -> Finding:
    numbers = ", ".join(str(link_number(i)) for i in sorted(device.off, key=natural_key))
    return Finding(
        component_id(node, device.device),
        "nvlink_disabled",
        "info",
        "context",
        f"Link {numbers} of {device.device or 'the device'} is disabled, which somebody chose; "
        "a disabled link is not a broken one.",
        evidence=evidence_of(device.off.values()),
        is_link=False,
        numbers={"disabled_links": len(device.off)},
        rules=["link_state.nvlink_disabled"],
    )


def _switch_ports(node: str, device: DeviceLinks) -> Iterable[Finding]:
    """Unused NVSwitch ports are down by nature, so only ports that were up before are accused."""
    lost = DeviceLinks(device.device, up=device.up, was_up=device.was_up, since=device.since)
    lost.down = {i: state for i, state in device.down.items() if i in device.was_up}
    yield from _down_links(node, lost, len(lost.down))
    idle = [state for i, state in device.down.items() if i not in device.was_up]
    if idle:
        yield Finding(
            component_id(node, device.device),
            "nvswitch_ports_down",
            "info",
            "context",
            f"{len(idle)} ports of {device.device} are down and {len(device.up)} are up; ports "
            "that nothing is connected to look the same.",
            evidence=evidence_of(idle),
            is_link=False,
            numbers={"ports_down": len(idle), "ports_up": len(device.up)},
            rules=["link_state.nvswitch_ports_down"],
        )


# --- common parts ----------------------------------------------------------------------------


def _states(devices: Iterable[DeviceLinks]) -> Iterable[State | None]:
    for device in devices:
        yield device.whole
        yield from device.down.values()
        yield from device.was_up.values()


def _finish(finding: Finding, gpu: DeviceLinks, rule: str) -> Finding:
    finding.rules = [rule]
    finding.evidence = evidence_of(_states([gpu]))
    _set_times(finding, [gpu])
    return _classed(finding)


def _set_times(finding: Finding, gpus: Iterable[DeviceLinks]) -> None:
    """From the first state of the outages that still last to the last one that was read."""
    wholes = [gpu.whole for gpu in gpus if gpu.whole is not None]
    begun = [*(state for gpu in gpus for state in gpu.since.values()), *wholes]
    latest = [*(state for gpu in gpus for state in gpu.down.values()), *wholes]
    finding.first_seen = min((s.reading.time for s in begun if s.reading.time), default=None)
    finding.last_seen = max((s.reading.time for s in latest if s.reading.time), default=None)


def _classed(finding: Finding) -> Finding:
    """State the error class of accusations: what a link state reports is a lost link."""
    if finding.accuses:
        finding.error_class, finding.class_basis = "link_down", "reported"
    return finding
