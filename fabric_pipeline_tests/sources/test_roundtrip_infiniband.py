"""Port counters of InfiniBand read back equal: perfquery, ibqueryerrors, sysfs as grep prints it.

Classic attributes are narrower than the numbers invented here; the tools print whatever they hold, and
what a reader makes of a full counter is told by its own tests. Here the number has to be the same.
"""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from fabric_pipeline_tests.sources.facts import (
    Fact,
    delivered,
    facts,
    formats,
    nodes,
    readings,
    rounds,
)

# Canonical name -> spelling of perfquery, of ibqueryerrors and of sysfs (IBTA PortCounters; rdma-core).
SPELT = {
    "symbol_error": ("SymbolErrorCounter", "SymbolErrorCounter", "symbol_error"),
    "link_error_recovery": ("LinkErrorRecoveryCounter", "LinkErrorRecoveryCounter", "link_error_recovery"),
    "link_downed": ("LinkDownedCounter", "LinkDownedCounter", "link_downed"),
    "rx_errors": ("PortRcvErrors", "PortRcvErrors", "port_rcv_errors"),
    "rx_remote_physical": ("PortRcvRemotePhysicalErrors", "PortRcvRemotePhysicalErrors", "port_rcv_remote_physical_errors"),
    "tx_discards": ("PortXmitDiscards", "PortXmitDiscards", "port_xmit_discards"),
    "tx_wait": ("PortXmitWait", "PortXmitWait", "port_xmit_wait"),
    "rx_bytes": ("PortRcvData", "PortRcvData", "port_rcv_data"),
}  # fmt: skip
NAMES = list(SPELT.items())
BYTES_OF_A_WORD = 4  # data counters of a port count words of four bytes


def _amount(fact: Fact) -> float:
    return float(fact.value * (BYTES_OF_A_WORD if NAMES[fact.word][0] == "rx_bytes" else 1))


def _of_a_port(found: list[Fact]) -> dict[tuple[int, int], list[Fact]]:
    """Facts by GPU and link, which stand for LID or device and for the port here."""
    ports: dict[tuple[int, int], list[Fact]] = {}
    for fact in {(f.gpu, f.link, f.word): f for f in found}.values():
        ports.setdefault((fact.gpu, fact.link), []).append(fact)
    return ports


def _dotted(name: str, value: int) -> str:
    """A row as libibmad prints it: name, colon, dots, number."""
    text = str(value)
    return f"{name}:{'.' * max(3, 40 - len(name) - len(text))}{text}\n"


@rounds(suppress_health_check=[HealthCheck.too_slow])
@given(facts(len(NAMES), most=10), st.booleans())
def test_perfquery(found: list[Fact], is_extended: bool) -> None:
    ports = _of_a_port(found)
    kind = "Port extended counters" if is_extended else "Port counters"
    text = ""
    for (lid, port), values in ports.items():
        text += f"# {kind}: Lid {lid + 1} port {port + 1} (CapMask: 0x5A00)\n"
        text += _dotted("PortSelect", port + 1) + "CounterSelect:...................0x0000\n"
        text += "".join(_dotted(NAMES[f.word][1][0], f.value) for f in values)
    readout = delivered({"perfquery": text})
    assert formats(readout) == {"perfquery"}
    assert readings(readout, "perfquery", "link_type") == Counter(
        ("", f"lid-{lid + 1}/port-{port + 1}", NAMES[f.word][0], _amount(f), None, "infiniband")
        for (lid, port), values in ports.items()
        for f in values
    )


@rounds(suppress_health_check=[HealthCheck.too_slow])
@given(facts(len(NAMES), most=10), st.booleans())
def test_ibqueryerrors(found: list[Fact], is_scaled: bool) -> None:
    """Old and new form: the new one repeats large figures in brackets, scaled and rounded."""
    ports = _of_a_port(found)
    text = ""
    for switch in sorted({gpu for gpu, _ in ports}):
        text += f'Errors for 0xbb{switch:04x} "leaf-{switch}"\n'
        for (_, port), values in ((place, v) for place, v in ports.items() if place[0] == switch):
            shown = "".join(
                f" [{NAMES[f.word][1][1]} == {f.value}{f' ({f.value / 1024:.3f}K)' if is_scaled else ''}]"
                for f in values
            )
            text += f"   GUID 0xbb{switch:04x} port {port + 1}:{shown}\n"
    text += f"\n## Summary: {len(ports)} nodes checked, {len(ports)} bad nodes found\n"
    readout = delivered({"errors": text})
    assert formats(readout) == {"ibqueryerrors"}
    assert readings(readout, "errors", "link_type") == Counter(
        ("", f"leaf-{switch}/port-{port + 1}", NAMES[f.word][0], _amount(f), None, "infiniband")
        for (switch, port), values in ports.items()
        for f in values
    )


@rounds(suppress_health_check=[HealthCheck.too_slow])
@given(nodes, facts(len(NAMES), most=10), st.sampled_from(["/sys/class/infiniband/", "", "./"]))
def test_sysfs_as_grep_prints_it(node: str, found: list[Fact], root: str) -> None:
    ports = _of_a_port(found)
    text = "".join(
        f"{root}mlx5_{device}/ports/{port + 1}/counters/{NAMES[f.word][1][2]}:{f.value}\n"
        for (device, port), values in ports.items()
        for f in values
    )
    readout = delivered({f"{node}/sysfs.txt": text})
    assert formats(readout) == {"sysfs_infiniband_grep"}
    assert readings(readout, f"{node}/sysfs.txt") == Counter(
        (node, f"mlx5_{device}/{port + 1}", NAMES[f.word][0], _amount(f), None)
        for (device, port), values in ports.items()
        for f in values
    )


# Columns of PM_INFO, in an order of their own: the classic ones, none of which has a wider twin here.
COLUMNS = (
    "LinkDownedCounter",
    "SymbolErrorCounter",
    "PortRcvErrors",
    "PortXmitWait",
    "PortRcvData",
)


@rounds(suppress_health_check=[HealthCheck.too_slow])
@given(facts(len(NAMES), most=10), st.permutations(COLUMNS))
def test_database_of_ibdiagnet(found: list[Fact], columns: list[str]) -> None:
    """Counters of switch ports; what a port does not have is N/A and no reading of zero."""
    ports = {
        place: {NAMES[f.word][1][0]: f for f in of_port if NAMES[f.word][1][0] in columns}
        for place, of_port in _of_a_port(found).items()
    }
    guids = {switch: f"0x0000bb000000{switch:04x}" for switch, _ in ports}
    text = "START_NODES\nNodeDesc,NumPorts,NodeType,SystemImageGUID,NodeGUID,PortGUID\n"
    text += "".join(f'"leaf-{n}",40,2,{guid},{guid},{guid}\n' for n, guid in guids.items())
    text += "END_NODES\n\nSTART_PM_INFO\nNodeGUID,PortGUID,PortNumber," + ",".join(columns) + "\n"
    for (switch, port), values in ports.items():
        cells = [str(values[name].value) if name in values else "N/A" for name in columns]
        text += f"{guids[switch]},{guids[switch]},{port + 1},{','.join(cells)}\n"
    readout = delivered({"ibdiagnet2.db_csv": text + "END_PM_INFO\n"})
    assert formats(readout) == {"ibdiagnet2_db_csv"}
    told = readings(readout, "", "link_type")
    assert Counter(row for row in told.elements() if row[3] is not None) == Counter(
        ("", f"leaf-{switch}/port-{port + 1}", NAMES[f.word][0], _amount(f), None, "infiniband")
        for (switch, port), values in ports.items()
        for f in values.values()
    )
