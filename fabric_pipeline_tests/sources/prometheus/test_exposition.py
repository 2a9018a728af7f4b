"""The grammar of Prometheus text lines."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric_pipeline.sources.prometheus.exposition import Exposition, Sample, parse_time


def parse(*lines: str) -> tuple[list[Sample], Exposition]:
    exposition = Exposition()
    return list(exposition.samples(list(lines))), exposition


def test_value_labels_and_time() -> None:
    samples, exposition = parse(
        "# HELP dcgm_x text", 'dcgm_x{gpu="1", uuid="a b",} 1.5e+03 1700000000000'
    )
    assert exposition.rejected == []
    assert [(s.line, s.name, s.labels, s.value) for s in samples] == [
        (2, "dcgm_x", {"gpu": "1", "uuid": "a b"}, 1500.0)
    ]
    stamp = parse_time(samples[0].time_text)
    assert stamp is not None
    assert stamp.timestamp() == 1_700_000_000


@pytest.mark.parametrize(
    ("line", "labels", "value"),
    [
        ("node_x 7", {}, 7.0),
        ("node_x{} 7", {}, 7.0),
        (r'node_x{a="q\"}{\\\n,"} 7', {"a": 'q"}{\\\n,'}, 7.0),
        ('node_x{a="b}c"} -Inf', {"a": "b}c"}, -math.inf),
        ('node_x{a="1"} 7 # {trace_id="z"} 0.5', {"a": "1"}, 7.0),
        ('node_x{a="1",...,b="2"} 7', {"a": "1", "b": "2"}, 7.0),
        ('  17:node_x{a="1"} 7', {"a": "1"}, 7.0),
        ('\x1b[01;31m\x1b[Knode_x\x1b[m\x1b[K{a="1"} 7', {"a": "1"}, 7.0),
        ('[01;31m[Knode_x[m[K{a="1"} 7', {"a": "1"}, 7.0),
        ('node_x{a="1"} => 7 @[1700000000.25]', {"a": "1"}, 7.0),
        ('{__name__="node_x",a="1"} 7 1700000000000', {"a": "1"}, 7.0),
    ],
)
def test_spellings(line: str, labels: dict[str, str], value: float) -> None:
    samples, exposition = parse(line, line)
    assert exposition.rejected == []
    assert [(s.name, s.labels, s.value) for s in samples] == [("node_x", labels, value)] * 2


@pytest.mark.parametrize("value", ["NaN", "N/A", "nan"])
def test_not_a_number_is_no_value(value: str) -> None:
    samples, _ = parse(f'dcgm_x{{gpu="1"}} {value}')
    assert math.isnan(samples[0].value)


@pytest.mark.parametrize(
    "line",
    [
        'dcgm_x{gpu="1"',
        'dcgm_x{gpu="1} 5',
        'dcgm_x{gpu="1"}',
        'dcgm_x{gpu="1"} five',
        'dcgm_x{gpu="1"} 1_000',
        'dcgm_x{gpu="1"} 5 6 7',
        'dcgm_x{gpu="1"} 5 noon',
        'dcgm_x{gpu="1"uuid="2"} 5',
        'dcgm_x{gpu="1",gpu="2"} 5',
        "dcgm_x{gpu=1} 5",
        'dcgm_x{gpu="1"x} 5',
        r'dcgm_x{gpu="1\"} 5',
        ',uuid="2"} 5',
        "DCGM_FI_DEV_PCIE_REPL",
    ],
)
def test_broken_lines_are_kept_with_the_rule(line: str) -> None:
    samples, exposition = parse(line, 'dcgm_y{gpu="1"} 5')
    assert [s.name for s in samples] == ["dcgm_y"]
    assert [(r.line, r.text) for r in exposition.rejected] == [(1, line)]
    assert exposition.rejected[0].rule


def test_foreign_lines_are_counted_and_an_ellipsis_is_remembered() -> None:
    samples, exposition = parse("$ curl localhost:9400/metrics", "100 39 0 --:--:--", "...", "")
    assert samples == []
    assert exposition.rejected == []
    assert exposition.foreign_lines == 2
    assert exposition.elided_lines == [3]


def test_huge_lines_do_not_hang() -> None:
    started = time.perf_counter()
    lines = [
        "x" * 1_000_000,
        'dcgm_x{a="' + '\\"' * 500_000,
        'dcgm_x{a="' + '\\"' * 30_000,
        'dcgm_x{a="1"' * 5_000 + "}",
        "{" * 60_000,
        '"' * 60_001,
    ]
    samples, exposition = parse(*lines)
    assert samples == []
    assert time.perf_counter() - started < 30
    assert all(len(r.text) <= 2000 for r in exposition.rejected)


_label_values = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=12)
_labels = st.dictionaries(st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True), _label_values)


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


@settings(deadline=None, max_examples=200)
@given(_labels, st.floats(allow_nan=False), st.booleans())
def test_rendered_sample_reads_back(labels: dict[str, str], value: float, blanks: bool) -> None:
    comma = ", " if blanks else ","
    text = comma.join(f'{name}="{_escape(given)}"' for name, given in labels.items())
    samples, exposition = parse(f"node_x{{{text}}} {value!r}", f"node_x{{{text}}} {value!r}")
    assert exposition.rejected == []
    assert [(s.labels, s.value) for s in samples] == [(labels, value)] * 2


@settings(deadline=None, max_examples=200)
@given(st.lists(st.text(max_size=80), max_size=5))
def test_any_text_is_survived(lines: list[str]) -> None:
    parse(*lines)
