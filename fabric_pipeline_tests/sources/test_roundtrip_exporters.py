"""What exporters and Prometheus write reads back equal: DCGM of all generations, node_exporter, queries.

Read through the door of all commands, because bulk formats are read set-wise there.
"""

from __future__ import annotations

import json
from collections import Counter

from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from fabric_pipeline_tests.sources.facts import (
    Fact,
    Found,
    delivered,
    facts,
    formats,
    readings,
    rounds,
)

CLASSIC = ("replay", "recovery", "crc_flit", "crc_data")
# How the generations of DCGM and of its exporter spell those four (dcgm_fields.h and its block of
# deprecated names; 1.x-compatibility-metrics.csv of dcgm-exporter).
OLDEST = ("replay_error", "recovery_error", "flit_crc_error", "data_crc_error")
STEMS = ("REPLAY_ERROR", "RECOVERY_ERROR", "CRC_FLIT_ERROR", "CRC_DATA_ERROR")
PORT = {
    "symbol_error": "symbol_error_total",
    "link_downed": "link_downed_total",
    "rx_errors": "port_errors_received_total",
    "tx_wait": "port_transmit_wait_total",
    "rx_bytes": "port_data_received_bytes_total",
}
seeds = st.randoms(use_true_random=False)


def _ms(fact: Fact) -> int:
    return round(fact.time.timestamp() * 1000)


def _s(fact: Fact) -> str:
    """Seconds as Prometheus prints them: no more decimals than needed."""
    return f"{_ms(fact) / 1000:.3f}".rstrip("0").rstrip(".")


def _old_labels(fact: Fact) -> str:
    return (
        f'gpu="{fact.gpu}",UUID="{fact.uuid}",pci_bus_id="00000000:{fact.gpu + 16:02X}:00.0",device="nvidia{fact.gpu}",'
        f'modelName="NVIDIA H100 80GB HBM3",Hostname="{fact.node}"'
    )


def _new_labels(fact: Fact) -> str:
    return (
        f'nvlink="{fact.link}", gpu="{fact.gpu}", gpu_uuid="{fact.uuid}", device="nvidia{fact.gpu}", '
        f'model_name="NVIDIA H100 80GB HBM3", hostname="{fact.node}"'
    )


def dcgm_1(found: list[Fact]) -> tuple[str, Found]:
    """Sums of a GPU, in the names of exporter 1.x; one of each GPU and counter."""
    sums = {(f.node, f.gpu, f.word): f for f in found}.values()
    text = "".join(
        f"dcgm_nvlink_{OLDEST[f.word]}_count_total{{{_old_labels(f)}}} {f.value} {_ms(f)}\n"
        for f in sums
    )
    rows = ((f.node, f"gpu{f.gpu}", CLASSIC[f.word], float(f.value), f.time, "gpu_sum") for f in sums)  # fmt: skip
    return text, Counter(rows)


def _of_links(found: list[Fact]) -> Found:
    return Counter(
        (f.node, f"gpu{f.gpu}/nvlink-{f.link}", CLASSIC[f.word], float(f.value), f.time, "link")
        for f in found
    )


def dcgm_3(found: list[Fact]) -> tuple[str, Found]:
    """One metric a link, with HELP and TYPE, as DCGM 3 to 4.5 name them."""
    text = ""
    for fact in found:
        name = f"DCGM_FI_DEV_NVLINK_{STEMS[fact.word]}_COUNT_L{fact.link}"
        text += f"# HELP {name} Errors of one link.\n# TYPE {name} counter\n"
        text += f"{name}{{{_old_labels(fact)}}} {fact.value} {_ms(fact)}\n"
    return text, _of_links(found)


def dcgm_46(found: list[Fact]) -> tuple[str, Found]:
    """Entities with a link label, as DCGM 4.6 has them; blanks behind the commas."""
    text = "".join(
        f"DCGM_FI_DEV_NVLINK_{STEMS[f.word]}_PER_LINK_TOTAL{{{_new_labels(f)}}} {f.value} {_ms(f)}\n"
        for f in found
    )
    return text, _of_links(found)


def _metric(fact: Fact) -> dict[str, str]:
    name = f"DCGM_FI_DEV_NVLINK_{STEMS[fact.word]}_COUNT_L{fact.link}"
    return {"__name__": name, "gpu": str(fact.gpu), "UUID": fact.uuid, "Hostname": fact.node}


def _answer(kind: str, series: list[dict[str, object]], indent: int | None) -> str:
    body = {"status": "success", "data": {"resultType": kind, "result": series}}
    return json.dumps(body, indent=indent)


@rounds(suppress_health_check=[HealthCheck.too_slow])
@given(facts(len(CLASSIC), most=12), st.booleans())
def test_dcgm_exporter_of_all_generations(found: list[Fact], is_crlf: bool) -> None:
    made = {"one.prom": dcgm_1(found), "three.prom": dcgm_3(found), "new.prom": dcgm_46(found)}
    end = "\r\n" if is_crlf else "\n"
    readout = delivered({name: text.replace("\n", end) for name, (text, _) in made.items()})
    assert formats(readout) == {"dcgm_exporter"}
    for name, (_, expected) in made.items():
        assert readings(readout, name, "scope") == expected


@rounds(suppress_health_check=[HealthCheck.too_slow])
@given(facts(len(CLASSIC), most=8), st.sampled_from([None, 1, 2]), seeds)
def test_queries_of_prometheus_and_victoria_metrics(found, indent, rng) -> None:  # type: ignore[no-untyped-def]
    """An instant, a range with each series' values, and an export with times and values apart."""
    vector: list[dict[str, object]] = [
        {"metric": _metric(f), "value": [json.loads(_s(f)), str(f.value)]} for f in found
    ]
    later = [(n * 30_000, max(0, f.value - n)) for f in found[:1] for n in range(rng.randrange(4))]
    ranges: list[dict[str, object]] = []
    exported, expected = [], _of_links(found)
    for fact in found:
        points = [(_ms(fact) + gap, value) for gap, value in later or [(0, fact.value)]]
        values = [[ms / 1000, str(value)] for ms, value in points]
        ranges.append({"metric": _metric(fact), "values": values})
        stamps = [ms for ms, _ in points]
        exported.append({"metric": _metric(fact), "values": [v for _, v in points], "timestamps": stamps})  # fmt: skip
    files = {
        "vector.json": _answer("vector", vector, indent),
        "matrix.json": _answer("matrix", ranges, indent),
        "export.jsonl": "".join(json.dumps(one) + "\n" for one in exported),
    }
    readout = delivered(files)
    assert formats(readout) == {"prometheus_query_json"}
    assert readings(readout, "vector.json", "scope") == expected
    assert readings(readout, "matrix.json") == readings(readout, "export.jsonl")
    found_values = sorted((r[1], r[3], round(r[4].timestamp() * 1000)) for r in readings(readout, "matrix.json").elements())  # fmt: skip
    assert found_values == sorted(
        (f"gpu{f.gpu}/nvlink-{f.link}", float(value), _ms(f) + gap)
        for f in found
        for gap, value in later or [(0, f.value)]
    )


@rounds(suppress_health_check=[HealthCheck.too_slow])
@given(facts(len(PORT), most=8))
def test_node_exporter(found: list[Fact]) -> None:
    names = list(PORT.items())
    text = "".join(
        f'node_infiniband_{names[f.word][1]}{{device="mlx5_{f.gpu}",instance="{f.node}:9100",port="{f.link + 1}"}} {f.value} {_ms(f)}\n'
        for f in found
    )
    lanes = "".join(
        f'node_ethtool_received_err_lane_{f.link}_phy{{device="ens{f.gpu}",instance="{f.node}:9100"}} {f.value} {_ms(f)}\n'
        for f in found
        if f.word == 0
    )
    readout = delivered({"infiniband.prom": text} | ({"lanes.prom": lanes} if lanes else {}))
    assert formats(readout) == {"node_exporter"}
    assert readings(readout, "infiniband.prom", "lane") == Counter(
        (f.node, f"mlx5_{f.gpu}/{f.link + 1}", names[f.word][0], float(f.value), f.time, None)
        for f in found
    )
    assert readings(readout, "lanes.prom", "lane") == Counter(
        (f.node, f"ens{f.gpu}", "corrected_bits", float(f.value), f.time, f.link)
        for f in found
        if f.word == 0
    )
