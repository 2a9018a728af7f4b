"""Surroundings of saved terminals: what they tell about host, time and command."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from fabric_pipeline.sources.base import Hints
from fabric_pipeline.sources.nvidia_smi.captures import (
    CapturedLine,
    captured_lines,
    looks_like_host,
)
from fabric_pipeline.sources.nvidia_smi.clock import parse_clock
from fabric_pipeline_tests.sources.nvidia_smi.files import source


def lines(folder: Path, text: str, hints: Hints | None = None) -> list[CapturedLine]:
    return list(captured_lines(source(folder, text, hints)))


@pytest.mark.parametrize(
    ("before", "node"),
    [
        ("root@dgx-1:~# nvidia-smi nvlink -s", "dgx-1"),
        ("[admin@dgx-2 tmp]$ nvidia-smi", "dgx-2"),
        ("(base) user@dgx3.lab:/data$ nvidia-smi", "dgx3.lab"),
        ("$ ssh admin@dgx-4 nvidia-smi nvlink -e", "dgx-4"),
        ("$ hostname\ndgx-5", "dgx-5"),
        ("----------------\ndgx-6\n----------------", "dgx-6"),
        ("Hostname: dgx-7", "dgx-7"),
        ("=== dgx-8 ===", "dgx-8"),
        ("=== run2 ===", ""),
        ("=== before ===", ""),
        ("root@0123456789ab:/# nvidia-smi", ""),
        ("> nvidia-smi", ""),
    ],
)
def test_host(tmp_path: Path, before: str, node: str) -> None:
    *_, last = lines(tmp_path, f"{before}\nGPU 0: card\n")
    assert (last.node, last.text) == (node, "GPU 0: card")


def test_time_from_a_date_line_in_the_zone_of_the_hints(tmp_path: Path) -> None:
    hints = Hints(timezone=timezone(timedelta(hours=2)))
    (line,) = lines(tmp_path, "Fri Nov 20 14:00:00 2026\nrow\n", hints)
    assert line.time == datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_command_counts_captures(tmp_path: Path) -> None:
    first, second = lines(tmp_path, "$ nvidia-smi -i 3\nrow\n$ nvidia-smi -i 4\nrow\n")
    assert (first.capture, second.capture) == (1, 2)
    assert (first.gpu_hint, second.gpu_hint) == (3, 4)


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("Fri Nov 20 12:00:00 2026", 12),
        ("Fri Nov 20 12:00:00 UTC 2026", 12),
        ("Fri Nov 20 12:00:00 PM UTC 2026", 12),
        ("2026-11-20T12:00:00Z", 12),
        ("2026-11-20 14:00:00+02:00", 12),
        ("2026-11-20 12:00", 12),
    ],
)
def test_clock(text: str, hour: int) -> None:
    assert parse_clock(text, UTC) == datetime(2026, 11, 20, hour, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    ["", "Nov 20", "Fri Xyz 20 12:00:00 2026", "Fri Nov 99 12:00:00 2026", "2026-13-20T12:00:00Z"],
)
def test_no_clock(text: str) -> None:
    assert parse_clock(text, UTC) is None


@pytest.mark.parametrize(
    ("word", "is_host"),
    [("node-3", True), ("a.b", True), ("gpu3", False), ("2026-11-20", False), ("12", False)],
)
def test_host_words(word: str, is_host: bool) -> None:
    assert looks_like_host(word) is is_host
