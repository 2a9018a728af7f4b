"""Small valid files of all formats, ways to damage them, and what must hold of whatever is read.

Used by the fuzz tests of the suite and, with more inputs, by `benchmarks/fuzz_readers.py`. All damage
comes from a seeded generator, so every input can be made again from its number.
"""

from __future__ import annotations

import json
import pickle
import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from fabric_pipeline.model.records import ReadResult, TopologyPart
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.store.duck import literal, session

_FOLDER = Path(__file__).with_name("specimens")
_NUMBER = re.compile(rb"\d+")
_WORD = re.compile(rb"[A-Za-z0-9_.-]+")
_EDGE = re.compile(rb"\b|\n")
_HUGE = (
    b"9" * 400, b"-1", b"1e400", b"nan", b"-inf", b"18446744073709551616", b"0x7fffffff", b"1_000",
    b"99999-1", b"\xd9\xa3", "²".encode(), "½".encode(), b"9223372036854775794", b"4294967295", b"0" * 5000 + b"1", b"1.2.3",
)  # fmt: skip
_ODD = (
    "\u202e", "\ufeff", "\x00", "\x1b[31m", "\r", "\u2028", "\U0001f525", "é", "\ud7ff", "\x85", "İ",
    '"', "'", "<script>", "'; drop table raw_telemetry; --", "\\", "{{", "%s", "\t", ",", "\n\n",
)  # fmt: skip
_RUNS = (
    b" ", b"\t", b"-", b"=", b"[", b"{", b"(", b'"', b":", b"0", b"9", b"a", b"/", b".", b",", b"_", b"x ", b"0 ", b"a:",
    b"a.", b"- ", b"[ ", b"\\", b"<", b"|", b"#", b"\x1b[", b"a=", b"GPU ", b"link ", b"=(", b"\r", b"\n", "\u00a0".encode(),
)  # fmt: skip
_LENGTHS = (5, 5, 20, 50, 50, 50, 100, 100, 400, 400, 400, 2000, 2000, 20_000)
# Bytes that an input may have: every tenth may be large, so that many small ones are tried meanwhile.
_LARGE, _SMALL, _LARGE_EVERY = 120_000, 2500, 10
_STORMS = (b"[", b"{", b"(", b'{"a":', b"<x>", b"==(", b"|", b"  ", b"\t", b"- ", b'"', b"\\", b":")


@cache
def specimens() -> dict[str, bytes]:
    """Format id -> a small valid file, invented for this purpose."""
    found = {path.stem: path.read_bytes() for path in sorted(_FOLDER.glob("*.txt"))}
    wide = (
        "ts,node,gpu,link_type,link,replay,crc_flit,state,speed_gbps\n"
        "2025-02-03T04:05:00Z,elm-07,1,nvlink,gpu1/nvlink-4,12,,active,25.5\n"
        "2025-02-03T04:06:00Z,elm-07,1,nvlink,gpu1/nvlink-4,15,3,inactive,0\n"
    )
    line = '{"ts": "2025-02-03T04:05:00Z", "node": "elm-07", "gpu": 1, "link_type": "nvlink", "link": "nvlink-4"'
    dump = json.loads(found["torch_flight_recorder_json"])
    return found | {
        "torch_flight_recorder_pickle": pickle.dumps(dump, protocol=2),
        "fabric_counters.wide": wide.encode(),
        "fabric_counters.jsonl": f'{line}, "replay": 5}}\n{line}, "replay": 9}}\n'.encode(),
    }


def parquet_specimens(folder: Path) -> dict[str, bytes]:
    """The same for the formats that come as Parquet."""
    selects = {
        "fabric_counters.parquet": "select '2025-02-03T04:05:00Z' as ts, 'elm-07' as node, 'nvlink' as link_type, "
        "'gpu1/nvlink-4' as link, 'replay' as counter, i * 3 as value from range(20) t(i)",
        "fabric_collectives.parquet": "select 'fir-1' as run, 'all_reduce' as op, 800.5 + i as duration_us, i as seq from range(20) t(i)",
        "straggler_ops_parquet": "select 'forward' as optype, 0.5 as duration, i * 1.0 as start_ts, i % 4 as dp_rank, 0 as stage from range(20) t(i)",
    }
    made = {}
    con = session()
    for name, select in selects.items():
        path = folder / f"{name}.made"
        con.execute(f"copy ({select}) to {literal(str(path))} (format parquet)")
        made[name] = path.read_bytes()
    con.close()
    return made


def damaged(seed: int, known: dict[str, bytes]) -> tuple[str, bytes]:
    """Input number `seed`: the name of the specimen it comes from, and its bytes."""
    rng = random.Random(seed)  # noqa: S311 - repeatable damage, no secret
    name = rng.choice(sorted(known))
    data = known[name]
    most = _SMALL if seed % _LARGE_EVERY else _LARGE
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        data = rng.choice(_WAYS)(rng, data, known)[:most]
    return name, data


def storm(seed: int, known: dict[str, bytes]) -> tuple[str, bytes]:
    """A valid file with 60,000 characters of one kind where a word of it begins or ends."""
    rng = random.Random(seed)  # noqa: S311
    name = rng.choice(sorted(known))
    places = [found.start() for found in _EDGE.finditer(known[name])] or [0]
    at, what = rng.choice(places), rng.choice(_RUNS)
    return name, known[name][:at] + what * (60_000 // len(what)) + known[name][at:]


def junk(seed: int) -> bytes:
    """Random content that belongs to no format: bytes, letters, brackets, words, one long line."""
    rng = random.Random(seed)  # noqa: S311
    size = rng.choice((0, 1, 50, 400, 400, 400, 3000, 3000, 3000, 40_000))
    kind = seed % 5
    if kind == 0:
        return rng.randbytes(size)
    if kind == 1:
        return "".join(map(chr, rng.choices(range(32, 0x2FFF), k=size // 3))).encode()
    if kind == 2:
        return b"".join(rng.choices(_STORMS, k=size))
    if kind == 3:
        words = ("the", "of", "a", "in", "to", "and", "is", "it", "was", "for", "\n", "\n\n", ", ")
        return " ".join(rng.choices(words, k=size // 4)).encode()
    return rng.choice(_STORMS) * size


def faults(file: SourceFile, result: ReadResult) -> Iterator[str]:
    """What is wrong with a result, whatever the file was: each entry a sentence."""
    last = max(len(file.lines), file.text.count("\r") + 1)  # XML parsers end a line there too
    numbers = [one.line for one in result.readings] + [one.line for one in result.timings]
    numbers += [one.line for one in result.events] + [one.line for one in result.rejected]
    if not file.starts_with(b"PAR1") and not file.starts_with(b"\x1f\x8b"):
        yield from (f"line {n} of {last}" for n in numbers if n is not None and not 1 <= n <= last)
    yield from (f"no rule for {one.text!r}" for one in result.rejected if not one.rule.strip())
    yield from (f"no counter text in line {r.line}" for r in result.readings if not r.counter_text)
    yield from (f"{r.value} is {r.quality}" for r in result.readings if r.value is None and r.quality == "ok" and r.counter)  # fmt: skip
    yield from (f"naive time {r.time}" for r in result.readings if r.time and not r.time.tzinfo)
    yield from (f"naive time {e.time}" for e in result.events if e.time and not e.time.tzinfo)
    part = result.topology or TopologyPart()
    yield from (f"a node without name: {one}" for one in part.nodes if "node" not in one)
    yield from (f"a switch without name: {one}" for one in part.switches if "name" not in one)
    yield from (f"event counts {e.count}" for e in result.events if e.count < 1)
    yield from (f"event without kind: {e.text!r}" for e in result.events if not e.kind.strip())


def _cut(rng: random.Random, data: bytes, known: dict[str, bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] if rng.random() < 0.7 else data[at:]


def _flip(rng: random.Random, data: bytes, known: dict[str, bytes]) -> bytes:
    flipped = bytearray(data)
    for _ in range(rng.randrange(1, 12)):
        if flipped:
            flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
    return bytes(flipped)


def _splice(rng: random.Random, data: bytes, known: dict[str, bytes]) -> bytes:
    other = known[rng.choice(sorted(known))]
    at, start = rng.randrange(len(data) + 1), rng.randrange(len(other) + 1)
    return data[:at] + other[start : start + rng.randrange(600)] + data[at:]


def _renumber(rng: random.Random, data: bytes, known: dict[str, bytes]) -> bytes:
    places = list(_NUMBER.finditer(data))
    for place in sorted(rng.sample(places, min(len(places), 3)), key=lambda m: -m.start()):
        data = data[: place.start()] + rng.choice(_HUGE) + data[place.end() :]
    return data


def _unsettle(rng: random.Random, data: bytes, known: dict[str, bytes]) -> bytes:
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(data) + 1)
        data = data[:at] + rng.choice(_ODD).encode("utf-8", "replace") + data[at:]
    return data


def _storm(rng: random.Random, data: bytes, known: dict[str, bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(_STORMS) * rng.choice(_LENGTHS) + data[at:]


def _shuffle(rng: random.Random, data: bytes, known: dict[str, bytes]) -> bytes:
    lines = data.split(b"\n")
    chosen = [rng.choice(lines) for _ in range(rng.randrange(1, 2 * len(lines) + 1))]
    return rng.choice((b"\n", b"\r\n", b"\r", b"\n\n")).join(chosen)


def _recode(rng: random.Random, data: bytes, known: dict[str, bytes]) -> bytes:
    text = data.decode("utf-8", "replace")
    return text.encode(rng.choice(("utf-16", "utf-8-sig", "latin-1", "utf-16-le")), "replace")


def _join(rng: random.Random, data: bytes, known: dict[str, bytes]) -> bytes:
    """Two whole files of different formats, one behind the other."""
    other = known[rng.choice(sorted(known))]
    return rng.choice((b"", b"\n", b"\r\n", b"\n\n")).join(rng.sample((data, other), 2))


def _repeat(rng: random.Random, data: bytes, known: dict[str, bytes]) -> bytes:
    """A block of lines several times in a row, as when a capture was pasted twice."""
    lines = data.splitlines(keepends=True)
    start = rng.randrange(len(lines) + 1)
    block = lines[start : start + rng.choice((1, 2, 5, 20))]
    return b"".join(lines[:start] + block * rng.choice((2, 2, 3, 30)) + lines[start:])


def _reword(rng: random.Random, data: bytes, known: dict[str, bytes]) -> bytes:
    """Words replaced by random Unicode of any plane."""
    places = list(_WORD.finditer(data))
    for place in sorted(rng.sample(places, min(len(places), 4)), key=lambda m: -m.start()):
        top = rng.choice((0xFF, 0x2FFF, 0x10FFFF))
        word = "".join(chr(rng.randrange(1, top)) for _ in range(rng.choice((1, 3, 40))))
        data = data[: place.start()] + word.encode("utf-8", "replace") + data[place.end() :]
    return data


def _nest(rng: random.Random, data: bytes, known: dict[str, bytes]) -> bytes:
    """A piece of the file, or all of it, inside many brackets, objects or elements that are closed again."""
    start, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    start, end = rng.choice(((0, len(data)), (start, end)))
    left, right = rng.choice(((b"[", b"]"), (b'{"a":', b"}"), (b"<x>", b"</x>"), (b"(", b")")))
    deep = rng.choice((2, 2, 30, 30, 300, 3000))
    return data[:start] + left * deep + data[start:end] + right * deep + data[end:]


def _one_line(rng: random.Random, data: bytes, known: dict[str, bytes]) -> bytes:
    """The file without its line ends, often many times over: a very long line."""
    flat = b" ".join(data.split(b"\n"))
    return flat * rng.choice((1, 1, 1, 1, 1, 1 + 30_000 // (len(flat) + 1)))


_WAYS: tuple[Callable[[random.Random, bytes, dict[str, bytes]], bytes], ...] = (
    _cut, _cut, _flip, _flip, _splice, _renumber, _renumber, _unsettle, _storm, _shuffle, _recode,
    _join, _repeat, _reword, _nest, _one_line,
)  # fmt: skip
