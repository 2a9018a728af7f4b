"""What every reader sees of a file: text, lines, head and footer, whatever the encoding."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric_pipeline.sources.base import HEAD_BYTES, SourceFile


def source(tmp_path: Path, data: bytes) -> SourceFile:
    path = tmp_path / "file"
    path.write_bytes(data)
    return SourceFile(path, "file")


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"a", ["a"]),
        (b"a\n\nb\n", ["a", "", "b"]),
        (b"a\r\n\r\nb\r\n", ["a", "", "b"]),
        (b"a\rb\x0bc\x85d\n", ["a\rb\x0bc\ufffdd"]),
        ("a\u2028b\u0085c\n".encode(), ["a\u2028b\u0085c"]),
        (b"\xef\xbb\xbfa\n", ["a"]),
        ("a\r\nü\n".encode("utf-16"), ["a", "ü"]),
        ("a\nü".encode("utf-16-be").join((b"\xfe\xff", b"")), ["a", "ü"]),
        (b"\xff\xfea\0\n\0x", ["a", "\ufffd"]),
    ],
)
def test_lines_end_at_line_feeds_only(tmp_path: Path, data: bytes, lines: list[str]) -> None:
    assert source(tmp_path, data).lines == lines


def test_foreign_bytes_are_marked_and_their_lines_named(tmp_path: Path) -> None:
    file = source(tmp_path, "a\nfaçade\nb\n".encode("latin-1"))
    assert file.lines == ["a", "fa\ufffdade", "b"]


@pytest.mark.parametrize(
    ("data", "is_binary"),
    [(b"", False), (b"text", False), (b"a\0b", True), ("a".encode("utf-16"), False), (b"\xff" * 9, False)],
)  # fmt: skip
def test_nul_bytes_mean_binary(tmp_path: Path, data: bytes, is_binary: bool) -> None:
    assert source(tmp_path, data).is_binary is is_binary


def test_head_and_tail_are_bounded(tmp_path: Path) -> None:
    file = source(tmp_path, b"start" + b"x" * 2 * HEAD_BYTES + b"end")
    assert len(file.head) == HEAD_BYTES
    assert file.starts_with(b"start")
    assert not file.starts_with(b"tart")
    assert file.tail_has(b"end")
    assert not file.tail_has(b"start")
    assert file.tail_has(b"nd", 2)
    assert not file.tail_has(b"xend", 3)


def test_a_file_that_is_gone_is_an_os_error(tmp_path: Path) -> None:
    file = SourceFile(tmp_path / "gone", "gone")
    with pytest.raises(FileNotFoundError):
        _ = file.head
    with pytest.raises(FileNotFoundError):
        _ = file.lines
