"""Step times of several frameworks, and watchdog lines alone or inside a training log."""

from __future__ import annotations

import pytest

from fabric_pipeline.sources.collectives.training_log import TrainingLogReader
from fabric_pipeline.sources.collectives.watchdog import WatchdogReader

from .conftest import MakeFile

READER = TrainingLogReader()
WATCHDOG = WatchdogReader()
TIMEOUT = (
    "[rank5]:[E0101 ProcessGroupNCCL.cpp:616] [Rank 5] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=77, OpType=REDUCE_SCATTER, NumelIn=8, NumelOut=2, Timeout(ms)=300000) ran for 300012 "
    "milliseconds before timing out. last enqueued work: 80, last completed NCCL work: 76\n"
)


@pytest.mark.parametrize(
    "line",
    [
        " iteration       {n}/     900 | consumed samples:  4 | elapsed time per iteration (ms): 1250.0 | lm loss: 2 |",
        "hostb: [2031-01-01 00:00:00] iteration  {n}/ 900 | elapsed time per iteration (s): 1.25 | loss",
        "ep 3 train, step {n}, ce 1.5, num_seqs 4, mem_usage:cuda 2.0GB, 1.25 sec/step, elapsed 0:00:09",
        "steps: {n} loss: 9.5e+00 iter time (s): 1.250 samples/sec: 20",
        "completed step: {n}, seconds: 1.25, TFLOP/s/device: 90",
        "step   {n}/900 | loss 3.1 | norm 1.0 | 1250.0 ms | 9999 tok/s",
        "iter {n}: loss 2.5, time 1250.00ms, mfu 30%",
        "step: {n} loss: 3.0 step_time: 1.25",
    ],
)
def test_step_lines(make_file: MakeFile, line: str) -> None:
    file = make_file("preamble\n" + "".join(line.format(n=n) + "\n" for n in (6, 7)))
    assert READER.score(file) == 75
    out = READER.read(file)
    assert [(t.seq, t.duration_us, t.line) for t in out.timings] == [(6, 1.25e6, 2), (7, 1.25e6, 3)]
    assert {t.unit_kind for t in out.timings} == {"step"}


def test_steps_behind_a_long_preamble_are_found(make_file: MakeFile) -> None:
    text = "a word\n" * 60_000 + "iter 3: loss 2.5, time 10.0ms\n"
    assert READER.score(make_file(text)) == 55


def test_a_cut_is_unknown(make_file: MakeFile) -> None:
    step = "iter {}: loss 2.5, time 10.0ms\n"
    out = READER.read(make_file(step.format(2) + "...\n" + step.format(90)))
    assert "between steps 2 and 90" in out.unknown[0].reason


def test_hosts_in_front_are_named(make_file: MakeFile) -> None:
    out = READER.read(make_file("gpu-a: iter 3: loss 2.5, time 10.0ms\ngpu-b: saving\n"))
    assert out.runs[0].nodes == ["gpu-a", "gpu-b"]
    assert out.timings[0].node == ""


def test_watchdog_alone(make_file: MakeFile) -> None:
    file = make_file("x\n" + TIMEOUT)
    assert WATCHDOG.score(file) == 70
    event = WATCHDOG.read(file).events[0]
    assert (event.kind, event.role, event.line) == ("collective_timeout", "symptom", 2)
    assert event.details == {
        "rank": 5, "seq": "77", "op": "reduce_scatter", "limit_ms": "300000", "ran_ms": 300012,
        "last_enqueued": 80, "last_completed": 76,
    }  # fmt: skip


def test_watchdog_inside_a_training_log(make_file: MakeFile) -> None:
    out = READER.read(make_file("iter 3: loss 2.5, time 10.0ms\n" + TIMEOUT))
    assert [e.kind for e in out.events] == ["collective_timeout"]


def test_damage_and_others(make_file: MakeFile) -> None:
    for content in (
        "",
        "iteration 3 of 5\n",
        b"\0\0",
        "iteration 1/2 | " * 60_000,
        "step 1 " * 100_000,
    ):
        file = make_file(content)
        assert READER.score(file) == WATCHDOG.score(file) == 0
        assert READER.read(file).understood == 0
    assert not READER.read(make_file("iter 3: loss 2.5, time 10.")).timings
