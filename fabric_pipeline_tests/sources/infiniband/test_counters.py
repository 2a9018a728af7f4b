"""ibqueryerrors and perfquery: counter spellings, ceilings, sums, traffic without errors."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.infiniband.ibqueryerrors import IbqueryerrorsReader
from fabric_pipeline.sources.infiniband.perfquery import PerfqueryReader
from fabric_pipeline_tests.sources.infiniband.files import ends, one, read, source

QUERY, PERF = IbqueryerrorsReader(), PerfqueryReader()

LISTING = """Errors for 0xbb0001 "alder-1"
   GUID 0xbb0001 port ALL: [SymbolErrorCounter == 65535] [PortXmitWait == 900]
   GUID 0xbb0001 port 12: [SymbolErrorCounter == 65535] [LinkDownedCounter == 3] [PortXmitWait == 900 (0.879K)]
       Link info:      4   12[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>  0x0000000000aa0005     14    1[  ] "oak-05 HCA-1" ( )
Errors for "oak-07 HCA-1"
   GUID 0xaa0007 port 1: [PortRcvRemotePhysicalErrors == 8]

## Summary: 40 nodes checked, 2 bad nodes found
##          300 ports checked, 2 ports have errors beyond threshold
##          1 PMA query failures
"""


def test_listing_with_links_and_summary(tmp_path: Path) -> None:
    result = read(QUERY, tmp_path, LISTING)
    full = one(result, "alder-1/port-12", "symbol_error")
    assert (full.value, full.quality, full.line) == (65535, "saturated", 3)
    assert one(result, "alder-1/port-12", "tx_wait").value == 900
    assert one(result, "alder-1", "symbol_error").scope == "switch_sum"
    assert one(result, "HCA-1/1", "rx_remote_physical").node == "oak-07"
    assert ends(result) == {frozenset({"alder-1/port-12", "HCA-1/1"})}
    assert one(result, "", "fabric_check_errors").value == 2
    assert result.facts["ports_checked"] == 300
    assert "1 ports" in result.unknown[0].reason


def test_old_short_names(tmp_path: Path) -> None:
    text = "   GUID 0xbb0001 port 3: [SymbolErrors == 4] [LinkRecovers == 255] [XmtDiscards == 9]\n"
    result = read(QUERY, tmp_path, text)
    name = "0x0000000000bb0001/port-3"
    assert one(result, name, "link_error_recovery").quality == "saturated"
    assert one(result, name, "tx_discards").value == 9


def test_cut_counter_is_refused_and_the_others_stay(tmp_path: Path) -> None:
    text = LISTING[: LISTING.index("nter == 3]")]
    result = read(QUERY, tmp_path, text)
    assert [r.line for r in result.rejected] == [3]
    assert one(result, "alder-1/port-12", "symbol_error").value == 65535


def rows(lid: int, port: int, counters: dict[str, int], kind: str = "counters") -> str:
    head = f"# Port {kind}: Lid {lid} port {port} (CapMask: 0x1300)\nPortSelect:......................{port}\n"
    return head + "".join(f"{name}:{'.' * (33 - len(name))}{v}\n" for name, v in counters.items())


def test_classic_counters_saturate_and_words_become_bytes(tmp_path: Path) -> None:
    text = rows(7, 2, {"SymbolErrorCounter": 65535, "LinkDownedCounter": 255, "PortXmitData": 10})
    result = read(PERF, tmp_path, text)
    assert one(result, "lid-7/port-2", "link_downed").quality == "saturated"
    assert one(result, "lid-7/port-2", "tx_bytes").value == 40


def test_extended_counters_have_no_ceiling(tmp_path: Path) -> None:
    text = rows(7, 2, {"LinkDownedCounter": 255, "PortXmitWait": 5}, "extended counters")
    assert one(read(PERF, tmp_path, text), "lid-7/port-2", "link_downed").quality == "ok"


def test_traffic_alone_leaves_errors_unknown(tmp_path: Path) -> None:
    text = rows(7, 2, {"PortXmitData": 10, "PortRcvData": 10}, "extended counters")
    result = read(PERF, tmp_path, text)
    assert [(u.interface, u.what) for u in result.unknown] == [("lid-7/port-2", "error counters")]
    both = text + rows(7, 2, {"SymbolErrorCounter": 0})
    assert not read(PERF, tmp_path, both).unknown


def test_all_ports_and_error_details(tmp_path: Path) -> None:
    text = rows(7, 255, {"SymbolErrorCounter": 3})
    text += "# PortRcvErrorDetails counters: Lid 8 port 1\nPortLocalPhysicalErrors:.........6\n"
    result = read(PERF, tmp_path, text)
    assert one(result, "lid-7", "symbol_error").scope == "switch_sum"
    assert one(result, "lid-8/port-1", "rx_errors").value == 6


def test_cut_value_and_failed_query_are_refused(tmp_path: Path) -> None:
    text = rows(7, 2, {"SymbolErrorCounter": 4}) + "LinkDownedCounter:...............\n"
    text += "perfquery: iberror: failed: perfquery\n"
    assert [r.line for r in read(PERF, tmp_path, text).rejected] == [4, 5]


def test_empty_is_nobody_s(tmp_path: Path) -> None:
    assert QUERY.score(source(tmp_path, "")) == PERF.score(source(tmp_path, "")) == 0


@given(st.dictionaries(st.integers(1, 60), st.integers(0, 60000), min_size=1, max_size=30))
def test_rendered_listing_reads_back(tmp_path_factory, counts: dict[int, int]) -> None:  # type: ignore[no-untyped-def]
    text = 'Errors for 0xbb0001 "alder-1"\n' + "".join(
        f"   GUID 0xbb0001 port {p}: [PortRcvErrors == {v}]\n" for p, v in counts.items()
    )
    path = tmp_path_factory.mktemp("errors") / "f"
    path.write_text(text)
    result = QUERY.read(SourceFile(path, "f"))
    for port, value in counts.items():
        assert one(result, f"alder-1/port-{port}", "rx_errors").value == value
