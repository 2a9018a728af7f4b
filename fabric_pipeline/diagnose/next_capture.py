"""Which captures would settle what a diagnosis leaves open: findings and gaps in, commands out.

Pure and read-only: the commands are text for a person, from the table in `capture_commands`. A name
from telemetry gets into a command only when it is a plain device name, so that a hostile one can do no
harm in the shell of whoever copies the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fabric_pipeline.diagnose import capture_commands as c
from fabric_pipeline.diagnose.coverage import GPU_SUMS, NVLINK, PORT, Coverage
from fabric_pipeline.model.components import device_of, gpu_index, parse_component, port_index
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.records import UnknownFact

MINUTES_BETWEEN = 10
_MOST_CAUSES = 3  # causes for which captures are named: the rest is seen when these are settled

_DEVICE = re.compile(r"[A-Za-z][A-Za-z0-9_.]{0,30}")
_RDMA_DEVICE = re.compile(r"(?:mlx|hfi|bnxt|qedr|irdma|efa|rocep|ibp|ionic|hns)[A-Za-z0-9_.]{0,30}")
_BDF = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_GUID = re.compile(r"0x[0-9a-f]{1,16}")
_LID = re.compile(r"lid-([0-9]{1,5})")

_CABLE_KINDS = frozenset({
    "physical_link_degradation", "link_down", "link_flapping", "width_or_speed_downgrade", "width_downgrade", "link_errors",
    "module_over_temperature", "cable_unplugged", "link_suspected", "link_errors_without_effect",
})  # fmt: skip
_WIDTH_KINDS = frozenset({
    "width_or_speed_downgrade", "width_downgrade", "width_below_maximum", "speed_below_maximum", "generation_below_maximum",
})  # fmt: skip
# What a log or a tool told, without a counter beside it.
_TOLD_KINDS = frozenset({
    "nvlink_error", "nvlink_suspect", "nvswitch_error", "sxid", "pcie_uncorrected", "pcie_corrected", "link_down", "nvlink_inactive",
})  # fmt: skip
_WAITING_KINDS = frozenset({"port_not_active", "interface_down"})
# What is no link's: what a person looks at next, by the beginning of the kind of finding.
_NOT_A_LINK: tuple[tuple[str, str, str], ...] = (
    ("ras_", c.JOB_STATE, c.NODE), ("watchdog_", c.JOB_STATE, c.NODE), ("collective_", c.JOB_STATE, c.NODE),
    ("slow_compute", c.HOST_STATE, c.NODE), ("late_rank", c.HOST_STATE, c.NODE), ("contention", c.HOST_STATE, c.NODE),
    ("slow_node", c.HOST_STATE, c.NODE), ("superbench", c.HOST_STATE, c.NODE), ("packet_loss", c.TRAFFIC_RULES, c.NODE),
    ("congestion", c.TRAFFIC_RULES, c.NODE), ("common_rate", c.STATE, c.SWITCH_PORT), ("slow_", c.COUNTERS, c.HCA),
    ("slow_", c.COUNTERS, c.NVLINK),
    ("xid", c.EVENTS, c.NODE), ("peermem", c.EVENTS, c.NODE),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class NextCapture:
    """One command to run, what its output settles, and when.

    `after_minutes`: 0 for now; else it counts on from the captures at hand, and both are given to
    `inspect` together, the earlier first. `reads`: format id of its output, "" when it is not read.
    """

    command: str
    settles: str
    after_minutes: int = 0
    reads: str = ""


@dataclass(frozen=True, slots=True)
class OpenCase:
    """What a diagnosis came to, as far as the choice of captures depends on it."""

    verdict: str
    findings: Sequence[Finding] = ()
    unknown: Sequence[UnknownFact] = ()
    formats: frozenset[str] = frozenset()
    coverage: Coverage = field(default_factory=Coverage)


def next_captures(case: OpenCase) -> list[NextCapture]:
    """The captures that would settle most, the most useful first; each command once."""
    found: dict[str, NextCapture] = {}
    for one in _wanted(case):
        if one is not None:
            found.setdefault(one.command, one)
    return list(found.values())


def _wanted(case: OpenCase) -> Iterator[NextCapture | None]:
    accusing = [finding for finding in case.findings if finding.accuses][:_MOST_CAUSES]
    for finding in accusing:
        yield from _for_finding(finding, case)
    yield from _for_unknown(case)
    if accusing:
        return
    if case.verdict == "no_data":
        yield from _for_no_data(case)
        return
    for finding in [one for one in case.findings if one.severity == "watch"][:1]:
        yield from _for_finding(finding, case)
    yield from _for_gaps(case)


def _for_finding(finding: Finding, case: OpenCase) -> Iterator[NextCapture | None]:
    is_placed = parse_component(finding.component).interface != ""
    if not finding.is_link or not is_placed:
        yield from _for_no_place(finding, case)
    if finding.is_link:
        yield from _for_link(finding, case)


def _for_no_place(finding: Finding, case: OpenCase) -> Iterator[NextCapture | None]:
    """No link is blamed, or none is named: where a person looks next."""
    if finding.kind in _WAITING_KINDS:
        yield _filled(c.STATE, _End.of(finding.component), case)
    if finding.kind in _WIDTH_KINDS:
        yield _filled(c.LOAD, _End.of(finding.component), case)
    is_known = any(finding.kind == start for start, _, _ in _NOT_A_LINK)
    for start, need, kind in _NOT_A_LINK:
        if finding.kind == start or (not is_known and finding.kind.startswith(start)):
            yield _filled(need, _End(kind), case)


def _for_link(finding: Finding, case: OpenCase) -> Iterator[NextCapture | None]:
    end, far = _End.of(finding.component), _End.of(finding.far_end)
    if finding.kind in _WAITING_KINDS:
        yield _filled(c.SUBNET, _End(c.NODE), case)
        yield _filled(c.STATE, end, case)
        return
    is_sum = end.kind == c.GPU or (end.kind == c.SWITCH_PORT and "port" not in end.places)
    if is_sum and finding.kind != "gpu_lost":
        yield _filled(c.WHICH_LINK, end, case)
    if finding.kind in _WIDTH_KINDS and end.kind == c.PCIE:
        yield _filled(c.LOAD, end, case)
    elif _counts_without_span(finding):
        yield _at_either(c.GROWTH, end, far, case, MINUTES_BETWEEN)
    elif finding.kind in _TOLD_KINDS:
        yield _at_either(c.COUNTERS, end, far, case)
    if finding.kind in _CABLE_KINDS and not _has(case, "mlxlink"):
        yield _at_either(c.MODULE, end, far, case)
    if not finding.far_end and finding.kind != "gpu_lost":
        yield _filled(c.FAR_END, end, case)


def _counts_without_span(finding: Finding) -> bool:
    """True for totals of which nobody knows since when they count."""
    if finding.numbers.get("is_snapshot"):
        return True
    return finding.class_basis == "snapshot" and any(
        "totals" in one for one in finding.alternatives
    )


def _for_unknown(case: OpenCase) -> Iterator[NextCapture | None]:
    """What readers found missing, by the words they have for it."""
    for fact in case.unknown:
        what = fact.what.lower()
        if what in ("host name", "absolute time") and _has(case, "kernel_log"):
            yield _filled(c.EVENTS, _End(c.NODE), case)
        elif what.startswith(("pci address of the gpu", "serial number of the gpu")):
            yield _filled(c.IDENTITY, _End(c.GPU), case)
        elif "saturated" in fact.reason[:12]:
            yield _filled(c.GROWTH, _End.of(f"{fact.node}:{fact.interface}"), case, MINUTES_BETWEEN)
        elif "nvlink" in what and "not supported" in fact.reason:
            yield _filled(c.COUNTERS, _End(c.NVLINK), case)
        elif what == "error counters":
            yield _filled(c.COUNTERS, _End.of(f"{fact.node}:{fact.interface}"), case)


def _for_no_data(case: OpenCase) -> Iterator[NextCapture | None]:
    if case.formats & {"dcgm_exporter", "prometheus_query_json"}:
        yield NextCapture(
            "dcgm-exporter -f COUNTERS.csv",
            f"with these fields a scrape measures links: {', '.join(c.EXPORTER_FIELDS)}",
            reads="dcgm_exporter",
        )
    known = [
        needs
        for name in sorted(case.formats)
        for start, needs in c.INSTEAD_OF
        if name.startswith(start)
    ]
    for needs in known or ([] if case.formats & {"dcgm_exporter"} else [c.OTHERWISE]):
        for need, kind in needs:
            yield _filled(need, _End(kind), case)


def _for_gaps(case: OpenCase) -> Iterator[NextCapture | None]:
    """For a clean look: what of the same links was not looked at."""
    for kind, target in ((NVLINK, c.NVLINK), (PORT, c.SWITCH_PORT if _is_fabric(case) else c.HCA)):
        seen = case.coverage.of(kind)
        if seen is not None and not seen.with_errors:
            yield _filled(c.COUNTERS, _End(target), case)
        elif seen is not None and not seen.with_state:
            yield _filled(c.STATE, _End(target), case)
    if case.coverage.of(GPU_SUMS) is not None and case.coverage.of(NVLINK) is None:
        yield _filled(c.COUNTERS, _End(c.NVLINK), case)


def _is_fabric(case: OpenCase) -> bool:
    """True when a tool was used that asks switches, so that others of its kind are there too."""
    return _has(case, "iblink", "ibnet", "ibquery", "perfquery", "ibswitches", "ibdiagnet")


def _has(case: OpenCase, *starts: str) -> bool:
    return any(name.startswith(starts) for name in case.formats)


def _at_either(
    need: str, end: _End, far: _End, case: OpenCase, after: int = 0
) -> NextCapture | None:
    """The command for the named end, or for the other one where only that can be addressed."""
    return _filled(need, end, case, after) or _filled(need, far, case, after)


def _filled(need: str, end: _End, case: OpenCase, after: int = 0) -> NextCapture | None:
    """The command for a need: of a tool that the site evidently has, else the first that can be filled in."""
    usable = [
        one
        for one in c.COMMANDS.get((need, end.kind), ())
        if all(end.places.get(place) for place in one.needs)
        and (not one.site_has or _has(case, *one.site_has))
    ]
    if not usable:
        return None
    best = usable[0]
    after = 0 if best is c.PULL else after  # a window has a beginning and an end of its own
    return NextCapture(
        best.template.format_map(end.places), best.settles.format_map(end.places), after, best.reads
    )


@dataclass(frozen=True, slots=True)
class _End:
    """How tools address a component: its kind and the names that may stand in a command."""

    kind: str
    places: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, component: str) -> _End:
        """The end of a link as a component id names it; kind `node` when no tool can address it."""
        interface = parse_component(component).interface
        device, _, rest = interface.partition("/")
        port = port_index(interface)
        if device.startswith(("gpu", "pci-")):
            return _of_gpu_or_pci(interface, device, rest)
        if device.startswith("nvswitch"):
            return cls(c.NVSWITCH)
        if port is not None or rest.startswith("port-") or (_GUID.fullmatch(device) and not rest):
            return cls(c.SWITCH_PORT, _switch_places(device, rest))
        if rest.isdecimal() and _RDMA_DEVICE.fullmatch(device):
            return cls(c.HCA, {"hca": device, "port": rest})
        if not rest and _DEVICE.fullmatch(device):
            return cls(c.NETDEV, {"netdev": device})
        return cls(c.HCA if rest.isdecimal() else c.NODE)


def _of_gpu_or_pci(interface: str, device: str, rest: str) -> _End:
    bdf = device.removeprefix("pci-")
    places = {"bdf": bdf, "gpu": bdf} if _BDF.fullmatch(bdf) else {}
    index = gpu_index(interface)
    if index is not None:
        places = {"gpu": str(index), "gpu_index": str(index)}
    if rest.startswith("nvlink"):
        return _End(c.NVLINK, places)
    if rest.startswith("pcie") or (not rest and device_of(interface).startswith("pci-")):
        return _End(c.PCIE, places)
    return _End(c.GPU, places)


def _switch_places(device: str, rest: str) -> dict[str, str]:
    places: dict[str, str] = {}
    port = rest.removeprefix("port-")
    if re.fullmatch(r"[0-9]{1,3}(?:/[0-9]{1,2}){0,2}", port):
        places |= {"port": port} | ({"port_number": port} if port.isdecimal() else {})
    if found := _LID.fullmatch(device):
        places["lid"] = found[1]
    elif _GUID.fullmatch(device):
        places["guid"] = device
    if _DEVICE.fullmatch(device.replace("-", "_")):
        places["switch"] = device
    return places
