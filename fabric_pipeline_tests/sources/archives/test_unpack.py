"""Opening archives: what was packed comes out, what is hostile or damaged is named and does no harm."""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import lzma
import random
import tarfile
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric_pipeline.sources.archives.limits import LIMITS, PassingError
from fabric_pipeline.sources.archives.unpack import unpack

from .packing import PACKERS, directory, kept, member, opened, problems, tarred, zipped

PART = st.text(st.characters(codec="utf-8", exclude_characters="/\\!\0:"), min_size=1, max_size=8)
TREES = st.dictionaries(
    st.lists(PART.filter(lambda p: p not in (".", "..")), min_size=1, max_size=3).map("/".join),
    st.binary(max_size=300),
    min_size=1,
    max_size=6,
)
SMALL = replace(
    LIMITS, total_bytes=3_000_000, entry_bytes=400_000, slack_bytes=50_000, ratio=500, entries=50
)
NOISE = random.Random(6).randbytes(3000)  # noqa: S311


@settings(max_examples=25)
@given(files=TREES, kind=st.sampled_from(sorted(PACKERS)))
def test_what_was_packed_comes_out_under_its_name(files: dict[str, bytes], kind: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        contents = opened(Path(folder), PACKERS[kind](files))
        assert (contents.kind, contents.problem) == (kind, "")
        said = problems(contents)
        assert all("second entry" in problem for problem in said.values())
        out = kept(Path(folder), contents)
        assert len(out) + len(said) == len(files)
        assert sorted(out.values()) == sorted(
            content for content in files.values() if content in out.values()
        )
        for name, content in files.items():
            if name.isprintable() and name in out:
                assert out[name] == content


@settings(max_examples=60)
@given(st.sampled_from(sorted(PACKERS)), st.integers(0, 10**9), st.booleans())
def test_damage_never_raises_and_never_changes_what_is_kept(
    kind: str, seed: int, cut: bool
) -> None:
    files = {f"host-{n}/nvlink.txt": NOISE[n * 100 : n * 100 + 900] for n in range(4)}
    rng, data = random.Random(seed), bytearray(PACKERS[kind](files))  # noqa: S311
    if cut:
        del data[rng.randrange(len(data)) :]
    else:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    with tempfile.TemporaryDirectory() as folder:
        contents = opened(Path(folder), bytes(data))
        out = kept(Path(folder), contents)
        if kind != "tar":  # nothing in a plain tar says that content changed
            assert all(content in files.values() for content in out.values())
        if contents.kind:  # else the first bytes are hit and it is an unknown file
            assert contents.problem or len(out) + len(problems(contents)) == len(files)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
def test_one_compressed_file_bears_the_name_of_the_archive(tmp_path: Path, pack: object) -> None:
    assert callable(pack)
    contents = opened(tmp_path, pack(b"first\n") + pack(b"second\n"), "n07/kern.log.gz")
    assert kept(tmp_path, contents) == {"kern.log": b"first\nsecond\n"}
    assert contents.inside == 1


BAD_NAMES = {
    "../../etc/keys": "leads out of the archive",
    "a/../../b": "leads out of the archive",
    "..\\..\\b": "leads out of the archive",
    "/etc/passwd": "its path is absolute",
    "C:\\temp\\x": "its path is absolute",
    "\\\\server\\x": "its path is absolute",
    "x/" * 600 + "y": "more than 1000 characters",
}


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_names_that_lead_elsewhere_are_refused_and_the_rest_is_read(
    tmp_path: Path, kind: str
) -> None:
    files = dict.fromkeys(BAD_NAMES, b"evil") | {"./ok//a.txt": b"good"}
    contents = opened(tmp_path, PACKERS[kind](files))
    assert kept(tmp_path, contents) == {"ok/a.txt": b"good"}
    for rule in BAD_NAMES.values():
        assert any(rule in problem for problem in problems(contents).values())
    assert len(problems(contents)) == len(BAD_NAMES)


def test_a_nul_in_a_name_is_refused(tmp_path: Path) -> None:
    data = zipped({"a.txtXb": b"1"}).replace(b"a.txtXb", b"a.txt\0b")
    (rule,) = problems(opened(tmp_path, data)).values()
    assert "NUL" in rule


def test_windows_paths_become_folders_and_odd_characters_are_spelt_out(tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        info = zipfile.ZipInfo("host-3\\a.txt")
        info.create_system = 0
        archive.writestr(info, b"1")
        archive.writestr("line\nbreak\u202etxt", b"2")
    names = set(kept(tmp_path, opened(tmp_path, out.getvalue())))
    assert names == {"host-3/a.txt", "line\\nbreak\\u202etxt"}


def test_links_and_devices_are_refused(tmp_path: Path) -> None:
    odd = [
        member("sym", tarfile.SYMTYPE, "/etc/shadow"), member("hard", tarfile.LNKTYPE, "a.txt"),
        member("null", tarfile.CHRTYPE), member("sda", tarfile.BLKTYPE), member("pipe", tarfile.FIFOTYPE),
        member("folder", tarfile.DIRTYPE), member("sym/inside", tarfile.REGTYPE),
    ]  # fmt: skip
    contents = opened(tmp_path, tarred({"a.txt": b"good"}, *odd))
    assert kept(tmp_path, contents) == {"a.txt": b"good", "sym/inside": b""}
    assert set(problems(contents)) == {"sym", "hard", "null", "sda", "pipe"}
    assert "'/etc/shadow', not followed" in problems(contents)["sym"]


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        info = zipfile.ZipInfo("sym")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/shadow")
    assert "symbolic link" in problems(opened(tmp_path, out.getvalue()))["sym"]


def test_the_same_name_twice_and_names_that_differ_in_case(tmp_path: Path) -> None:
    data = tarred({"A.txt": b"1", "a.txt": b"2", "./a.txt": b"3", "e\u0301": b"4", "\u00e9": b"5"})
    contents = opened(tmp_path, data)
    assert kept(tmp_path, contents) == {"A.txt": b"1", "a.txt": b"2", "\u00e9": b"4"}
    assert set(problems(contents)) == {"a.txt #2", "\u00e9 #2"}


def test_an_encrypted_and_a_damaged_entry_cost_only_themselves(tmp_path: Path) -> None:
    data = bytearray(zipped({"a": NOISE, "b": b"2" * 99, "c": b"3" * 99}, zipfile.ZIP_STORED))
    data[data.index(b"PK\x01\x02") + 8] |= 1  # flag of the first entry in the list
    data[data.index(b"2" * 99) + 5] ^= 4
    contents = opened(tmp_path, bytes(data))
    assert kept(tmp_path, contents) == {"c": b"3" * 99}
    assert "encrypted; pack it again" in problems(contents)["a"]
    assert "checksum" in problems(contents)["b"]


class TestBombs:
    """Each is stopped while it is read; nothing of it stays on disk."""

    def test_a_zip_entry_that_grows_too_much(self, tmp_path: Path) -> None:
        data = zipped({"bomb": b"\0" * 390_000, "ok": b"good"})
        contents = opened(tmp_path, data, limits=SMALL)
        assert kept(tmp_path, contents) == {"ok": b"good"}
        assert "grows more than 500 times" in problems(contents)["bomb"]

    def test_a_stated_size_is_not_believed(self, tmp_path: Path) -> None:
        big = zipped({"bomb": b"\0" * 300_000})
        small = big.replace((300_000).to_bytes(4, "little"), (7).to_bytes(4, "little"))
        assert big != small
        contents = opened(tmp_path, small)
        assert "checksum or size" in problems(contents)["bomb"]

    @pytest.mark.parametrize("kind", ["tar.gz", "tar.xz", "tar.bz2"])
    def test_a_compressed_tar_goes_as_a_whole(self, tmp_path: Path, kind: str) -> None:
        data = PACKERS[kind]({"ok": b"good", **{f"{n}": b"\0" * 350_000 for n in range(9)}})
        contents = opened(tmp_path, data, limits=SMALL)
        assert (contents.entries, contents.inside) == ([], 0)
        assert "grows more than 500 times" in contents.problem

    def test_sums_over_all_entries(self, tmp_path: Path) -> None:
        data = tarred({f"{n}": NOISE * 100 for n in range(12)})
        assert "more than 3000000 bytes" in opened(tmp_path, data, limits=SMALL).problem
        too_large = opened(tmp_path, tarred({"a": NOISE * 200, "b": b"good"}), limits=SMALL)
        assert kept(tmp_path, too_large) == {"b": b"good"}
        assert "more than 400000 bytes" in problems(too_large)["a"]

    def test_entries_that_share_their_bytes(self, tmp_path: Path) -> None:
        data = directory([f"{n:05}" for n in range(500)], 0, NOISE)
        assert "share the same bytes" in opened(tmp_path, data).problem

    def test_a_hundred_thousand_entries(self, tmp_path: Path) -> None:
        data = directory([f"{n:06}" for n in range(100_000)], 0, b"x")
        assert "more than 20000 entries" in opened(tmp_path, data).problem
        many = tarred({f"{n}": b"" for n in range(60)})
        contents = opened(tmp_path, many, limits=SMALL)
        assert (contents.problem.split(",")[0], contents.entries) == ("more than 50 entries", [])

    def test_archives_in_archives_end_at_two(self, tmp_path: Path) -> None:
        inner = tarred({"deep.txt": b"1"})
        twice = zipped({"b.tar": inner, "log.gz": gzip.compress(b"2")})
        contents = opened(tmp_path, zipped({"a.zip": twice, "top.txt": b"3"}), "in.zip")
        assert kept(tmp_path, contents) == {"a.zip!log.gz!log": b"2", "top.txt": b"3"}
        assert "more than 2 archives deep" in problems(contents)["a.zip!b.tar"]
        again = opened(tmp_path, gzip.compress(gzip.compress(b"x")), "a.gz.gz")
        assert "compressed twice" in problems(again)["a.gz"]

    def test_an_archive_that_holds_itself(self, tmp_path: Path) -> None:
        """As a quine does: whatever comes out is opened no deeper than anything else."""
        data = zipped({"r.zip": b"PK\x05\x06" + b"\0" * 18})
        for _ in range(6):
            data = zipped({"r.zip": data, "r.tgz": gzip.compress(tarred({"r.zip": data}))})
        contents = opened(tmp_path, data)
        assert max(one.name.count("!") for one in contents.entries) == 1
        assert all("archives deep" in rule for rule in problems(contents).values())

    def test_a_bomb_inside_costs_only_itself(self, tmp_path: Path) -> None:
        bomb = gzip.compress(tarred({"x": b"\0" * 390_000, "y": b"\0" * 390_000}))
        contents = opened(tmp_path, zipped({"bomb.tgz": bomb, "ok": b"good"}), limits=SMALL)
        assert kept(tmp_path, contents) == {"ok": b"good"}
        assert "grows more than" in problems(contents)["bomb.tgz"]

    def test_headers_without_end(self, tmp_path: Path) -> None:
        long = member("n" * 3_000_000, tarfile.REGTYPE)
        data = gzip.compress(tarred({}, long))
        assert "longer than any real one" in opened(tmp_path, data).problem
        endless = tarred({}, *(member("x" * 200, tarfile.REGTYPE),) * 3)[:1024] * 2000
        assert opened(tmp_path, endless).problem
        back = bytearray(tarred({"a": b"1", "b": b"2"}))
        back[124:136] = b"\xff" * 12  # a negative size leads back to the same header
        back[148:156] = b"%06o\0 " % (sum(back[:148]) + sum(back[156:512]) + 256)
        assert not kept(tmp_path, opened(tmp_path, bytes(back)))

    def test_memory_that_xz_asks_for(self, tmp_path: Path) -> None:
        limits = replace(LIMITS, memory_bytes=1 << 20)
        contents = opened(tmp_path, lzma.compress(b"abc"), "a.xz", limits)
        assert "more memory" in contents.problem

    def test_time(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(tarred({"a": NOISE * 100}))
        (tmp_path / "out").mkdir()
        clock = itertools.count(step=500).__next__
        with pytest.raises(PassingError, match="longer than 900 s"):
            unpack(tmp_path / "a", tmp_path / "out", "a.tar", lambda _: False, clock=clock)


def test_a_cut_archive_gives_what_came_before_the_cut(tmp_path: Path) -> None:
    data = tarred({"a": b"1" * 600, "b": b"2" * 600, "c": b"3" * 600})
    contents = opened(tmp_path, data[: 512 * 5])
    assert set(kept(tmp_path, contents)) == {"a"}
    assert set(problems(contents)) == {"b"}
    assert "ends too early" in contents.problem
    assert "no end mark behind b" in opened(tmp_path, data[: 512 * 6]).problem
    packed = gzip.compress(tarred({str(n): random.Random(n).randbytes(3000) for n in range(9)}))  # noqa: S311
    half = opened(tmp_path, packed[: len(packed) // 2], "a.tgz")
    assert half.inside > 2
    assert "ends too early" in half.problem


def test_nothing_hides_behind_the_end(tmp_path: Path) -> None:
    joined = opened(tmp_path, tarred({"a": b"1"}) + tarred({"b": b"2"}))
    assert set(kept(tmp_path, joined)) == {"a"}
    assert "behind its end mark" in joined.problem
    tail = opened(tmp_path, gzip.compress(b"1") + b"more", "a.gz")
    assert "bytes behind its end" in tail.problem
    damaged = bytearray(tarred({"a": b"1", "b": b"2"}))
    damaged[1024 + 20] ^= 255  # inside the second header
    assert "damaged behind a" in opened(tmp_path, bytes(damaged)).problem


def test_an_archive_without_files_says_so(tmp_path: Path) -> None:
    for data in (zipped({}), tarred({}, member("d", tarfile.DIRTYPE))):
        assert "no file in it" in opened(tmp_path, data).problem
