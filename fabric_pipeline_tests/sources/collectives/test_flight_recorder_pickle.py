"""Pickled dumps: read like their JSON form when they are plain data, refused and never run otherwise."""

from __future__ import annotations

import builtins
import io
import json
import os
import pickle
import pickletools
import struct
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric_pipeline.sources.collectives.flight_recorder import FlightRecorderReader
from fabric_pipeline.sources.collectives.flight_recorder_pickle import FlightRecorderPickleReader
from fabric_pipeline.sources.collectives.plain_pickle import (
    MAX_BYTES,
    NotPlainError,
    plain_data,
)
from fabric_pipeline.sources.registry import recognise

from .conftest import MakeFile
from .test_flight_recorder import dump, entry

READER = FlightRecorderPickleReader()
DUMP: dict[str, Any] = json.loads(
    dump(entry(duration_ms=1.25), entry(state="started"), enqueued=5, completed=4)
)
LEAF = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64)
    | st.floats(allow_nan=False)
    | st.text(max_size=20)
)
DATA = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4), max_leaves=12
)  # fmt: skip


@settings(max_examples=60)
@given(DATA, st.integers(0, 5))
def test_plain_data_comes_out_equal(value: Any, protocol: int) -> None:
    assert plain_data(pickle.dumps(value, protocol)) == value


@settings(max_examples=150)
@given(st.integers(0, 10**9), st.integers(0, 255), st.integers(2, 5))
def test_damage_is_refused_or_gives_plain_data(place: int, value: int, protocol: int) -> None:
    data = bytearray(pickle.dumps(DUMP, protocol))
    data[place % len(data)] = value
    try:
        said = json.dumps(plain_data(bytes(data)))
    except NotPlainError as refusal:
        said = str(refusal)
    assert said


@pytest.mark.parametrize("protocol", range(6))
def test_it_reads_as_its_json_form_does(make_file: MakeFile, protocol: int) -> None:
    groups = [tuple(one["process_group"]) for one in DUMP["entries"]]  # as PyTorch writes it
    entries = [{**one, "process_group": g} for one, g in zip(DUMP["entries"], groups, strict=True)]
    packed = make_file(pickle.dumps({**DUMP, "entries": entries}, protocol))
    text = make_file(json.dumps(DUMP))
    assert recognise(packed).format_id == "torch_flight_recorder_pickle"
    found, meant = READER.read(packed), FlightRecorderReader().read(text)
    for one in (*found.timings, *meant.timings):
        one.run = ""  # holds the hash of the content
    assert (found.timings, found.events, found.facts) == (meant.timings, meant.events, meant.facts)
    assert found.timings
    assert not found.rejected


class Runs:
    """Pickles to a call, as hostile files do."""

    def __init__(self, function: Any, argument: str) -> None:
        self.call = function, (argument,)

    def __reduce__(self) -> Any:
        return self.call


class Outside(pickle.Pickler):
    def persistent_id(self, obj: Any) -> Any:
        return "somewhere" if obj == "refer" else None


def persistent(value: Any, protocol: int) -> bytes:
    out = io.BytesIO()
    Outside(out, protocol).dump(value)
    return out.getvalue()


def hostile(mark: Path) -> dict[str, bytes]:
    """Pickles that would leave a mark, or reach for objects, when run; all but one look like a dump."""
    shell = Runs(os.system, f"touch {mark}")
    code = Runs(builtins.eval, f"open({str(mark)!r}, 'w')")
    found = {
        f"{name}{protocol}": pickle.dumps({**DUMP, "more": value}, protocol)
        for protocol in (2, 4)
        for name, value in {
            "shell": shell,
            "eval": code,
            "class": OrderedDict(a=1),
            "set": {1},
            "complex": 1j,
        }.items()
    }
    text = f"cos\nsystem\n(S'touch {mark}'\ntR."
    found["by_hand"] = b"\x80\x02" + text.encode() + b"pg_config pg_status"
    found["inst"] = f"(dp0\nVpg_config\n(S'touch {mark}'\nios\nsystem\nsVpg_status\nNs.".encode()
    found["extension"] = b"\x80\x02}(X\x09\x00\x00\x00pg_configX\x09\x00\x00\x00pg_status\x82\x01u."
    found["outside"] = persistent({**DUMP, "more": "refer"}, 2)
    found["outside_text"] = persistent({**DUMP, "more": "refer"}, 0)
    return found


def test_nothing_but_plain_data_is_read_and_nothing_is_run(
    tmp_path: Path, make_file: MakeFile
) -> None:
    mark = tmp_path / "mark"
    pickle.loads(pickle.dumps(Runs(os.system, f"touch {mark}")))  # noqa: S301 - the mark would be left
    assert mark.exists()
    mark.unlink()
    for name, data in hostile(mark).items():
        file = make_file(data)
        assert recognise(file).format_id == "torch_flight_recorder_pickle", name
        out = READER.read(file)
        assert [*out.timings, *out.events, *out.facts] == [], name
        (refused,) = out.rejected
        assert "refused and not run" in refused.rule, name
    assert not mark.exists()


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    start, end = b"\x80\x02", b"."
    with pytest.raises(NotPlainError, match="more than 67108864 bytes"):
        plain_data(b"\0" * (MAX_BYTES + 1))
    far = (
        start + b"]r\xff\xff\xff\xff" + end
    )  # remembers under the number 4294967295: no table is made
    assert plain_data(far) == []
    monkeypatch.setattr("fabric_pipeline.sources.collectives.plain_pickle.MAX_MEMO", 100)
    many = b"".join(b"r" + struct.pack("<I", n) for n in range(101))
    with pytest.raises(NotPlainError, match="remembers more than 100"):
        plain_data(start + b"]" + many + end)
    monkeypatch.setattr("fabric_pipeline.sources.collectives.plain_pickle.MAX_CODES", 100)
    with pytest.raises(NotPlainError, match="more than 100 codes"):
        plain_data(start + b"]" * 101 + end)


def test_shared_parts_that_unfold_without_end() -> None:
    value: list[Any] = ["x"] * 10
    for _ in range(12):
        value = [value] * 10
    data = pickle.dumps(value, 2)
    assert len(data) < 1000
    with pytest.raises(NotPlainError, match="unfolds to more than"):
        plain_data(data)


def test_values_that_hold_themselves_and_deep_ones() -> None:
    ring: list[Any] = []
    ring.append({"a": ring})
    with pytest.raises(NotPlainError, match="holds itself"):
        plain_data(pickle.dumps(ring, 2))
    with pytest.raises(NotPlainError, match="nested deeper"):
        plain_data(b"\x80\x02" + b"(" * 5000 + b"l" * 5000 + b".")


@pytest.mark.parametrize(
    "data",
    [b"", b"\x80\x02", b"\x80\x02].]", b"\x80\x02h\x05.", b"\x80\x02(.", b"\x80\x02K\x01K\x02.", b"\x80\x02]K\x01s.",
     b"\x80\x02}(K\x01u.", b"\x80\x02}]K\x01s.", b"\x80\x02\x8a\x11" + b"\x7f" * 17 + b".", b"\x80\x02X\xff\xff\xff\x7fa."],
)  # fmt: skip
def test_what_is_no_whole_pickle_is_refused(data: bytes) -> None:
    if data == b"\x80\x02].]":  # bytes behind the end are never looked at
        assert plain_data(data) == []
        return
    with pytest.raises(NotPlainError):
        plain_data(data)


def test_every_code_outside_the_list_is_refused() -> None:
    """So is a code that a newer Python adds."""
    data_codes = {
        "PROTO", "STOP", "MARK", "NONE", "NEWTRUE", "NEWFALSE", "EMPTY_LIST", "EMPTY_DICT", "EMPTY_TUPLE", "LIST",
        "DICT", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "APPEND", "APPENDS", "SETITEM", "SETITEMS", "MEMOIZE",
    }  # fmt: skip
    others = [
        code for code in pickletools.opcodes if code.arg is None and code.name not in data_codes
    ]
    assert {code.name for code in others} >= {"REDUCE", "BUILD", "NEWOBJ", "OBJ", "BINPERSID"}
    for code in others:
        with pytest.raises(NotPlainError, match="refused and not run"):
            plain_data(b"\x80\x02" + code.code.encode("latin-1") + b".")


def test_a_pickle_that_is_no_dump(make_file: MakeFile) -> None:
    (refused,) = READER.read(make_file(pickle.dumps(["pg_config", "pg_status"], 2))).rejected
    assert "this pickle is none" in refused.rule
    assert READER.score(make_file(pickle.dumps({"weights": [1.0]}, 2))) == 0
