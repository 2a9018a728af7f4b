"""Names inside archives: made plain, or refused when they lead out of the archive.

Unpacked files never bear these names on disk, so a name can do no harm there; what is refused here
would mislead people and tools that unpack the same archive by hand.
"""

from __future__ import annotations

import re
import unicodedata

from fabric_pipeline.sources.archives.limits import EntryError

MAX_NAME = 1000  # characters of a path inside an archive; systems allow 4,096 bytes
_DRIVE = re.compile(r"^[A-Za-z]:")
_SPLIT = re.compile(r"[\\/]")
_ENDS = (
    ".tar.gz", ".tar.xz", ".tar.bz2", ".tgz", ".txz", ".tbz2", ".tbz", ".tar", ".zip", ".gz", ".xz", ".bz2",
)  # fmt: skip


def plain_name(raw: str, *, from_windows: bool = False) -> str:
    """The name with `/` between its parts, without `.` and empty parts; "" for the top folder.

    Accents are composed (NFC); what cannot be printed is spelt out. Raises EntryError for a name that
    is absolute, leads upwards, bears a drive letter or NUL, or is too long.
    """
    if "\0" in raw:
        raise EntryError("its name holds a NUL character; rename it and pack again")
    if raw.startswith(("/", "\\")) or _DRIVE.match(raw):
        raise EntryError("its path is absolute; pack it again with paths below one folder")
    if ".." in _SPLIT.split(raw):
        raise EntryError("its path leads out of the archive (..); pack it again without")
    if len(raw) > MAX_NAME:
        raise EntryError(f"its path has more than {MAX_NAME} characters; pack it again with less")
    parts = (_SPLIT if from_windows else re.compile("/")).split(raw)
    return "/".join(printable(part) for part in parts if part not in ("", "."))


def printable(text: str) -> str:
    """Composed text; bytes that are not UTF-8 and characters that do not print as escapes."""
    try:
        known = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        known = text.encode("utf-8", "surrogatepass")
    composed = unicodedata.normalize("NFC", known.decode("utf-8", "backslashreplace"))
    return "".join(
        ch if ch.isprintable() else ch.encode("unicode_escape").decode() for ch in composed
    )


def title_of(name: str) -> str:
    """The last part of a path without the ending of an archive: `host-3` of `in/host-3.tar.gz`."""
    last = name.rpartition("/")[2].rpartition("!")[2]
    end = next((end for end in _ENDS if last.lower().endswith(end)), "")
    return last[: len(last) - len(end)] if end and len(last) > len(end) else last
