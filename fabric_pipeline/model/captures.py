"""What the name of a file says of the capture in it: its place among others of one series, and its time.

Names decide only where the content states no time. What a modification time says is never asked: copies
and archives change it. Which host a folder names is decided in `sources.drop`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache

# A date with a clock: `20240507-0900`, `2024-05-07T09:00:00Z`, `2024_05_07__09_00_00`, `...T090000+0200`.
_STAMP = re.compile(
    r"(?<!\d)(?P<year>20\d\d)(?P<sep>[-_.]?)(?P<month>0[1-9]|1[0-2])(?P=sep)(?P<day>0[1-9]|[12]\d|3[01])[-_.T ]{1,2}"
    r"(?P<hour>[01]\d|2[0-3])(?P<colon>[-_.:h]?)(?P<minute>[0-5]\d)(?:(?P=colon)(?P<second>[0-5]\d))?(?:[.,]\d{1,9})?"
    r"(?P<zone>Z|UTC|[+-]\d\d:?\d\d(?!\d))?(?!\d)"
)
# An address, or a device such as `mlx5_0`, is one name and not a row of numbers.
_TOKEN = re.compile(
    r"(?<!\d)\d{1,3}(?:[.-]\d{1,3}){3}(?!\d)|\b(?:mlx|hfi|bnxt|qib)\d+_\w*?\d+|[A-Za-z]+|\d+|[^A-Za-z\d]+"
)
_EARLY = (
    "before", "pre", "prior", "old", "start", "begin", "first", "initial", "baseline", "earlier",
    "early",
)  # fmt: skip
_LATE = (
    "after", "post", "new", "end", "final", "last", "later", "late",
)  # fmt: skip
_WORDS = {
    **dict.fromkeys(_EARLY, 0),
    **dict.fromkeys(("during", "middle", "mid"), 1),
    **dict.fromkeys(_LATE, 2),
}
# A number or letter behind one of these counts captures: `run_a`, `step3`, `t0`.
_COUNTED = frozenset((
    "t", "run", "day", "week", "month", "hour", "minute", "part", "series", "sample", "window",
    "capture", "cap", "snapshot", "snap", "step", "phase", "round", "iter", "iteration", "pass",
    "loop", "take", "test", "try", "attempt", "epoch", "poll", "scrape", "dump", "no", "nr",
    "num",
))  # fmt: skip
# A number behind one of these names a machine or a part of one, however it is set apart.
_NAMING = frozenset((
    "n", "node", "nodes", "host", "hostname", "h", "server", "srv", "machine", "box", "rack",
    "gpu", "nic", "hca", "mlx", "port", "link", "switch", "leaf", "spine", "sw", "eth", "ib",
    "lid", "dgx", "hgx", "pod", "blade", "compute", "worker", "rank", "x", "cn", "gn",
))  # fmt: skip
Place = tuple[int, ...]


def series_name(file: str) -> str:
    """The name with everything masked that tells captures of one series apart.

    Two files with equal results are captures of one thing: `before.txt` and `after.txt`, `run_a/q.txt`
    and `run_b/q.txt`. Names of two machines (`n07.txt`, `n08.txt`) differ in their results.
    """
    return _parsed(file)[0]


def in_capture_order(files: Sequence[str]) -> list[str]:
    """The files in the order given, those of one series in the order their names state.

    A shell sorts `after.txt` before `before.txt` and `10.txt` before `2.txt`; names that state no order
    keep their places.
    """
    members: dict[str, list[str]] = {}
    for file in files:
        members.setdefault(series_name(file), []).append(file)
    ordered = {name: iter(sorted(group, key=_place)) for name, group in members.items()}
    return [next(ordered[series_name(file)]) for file in files]


def stated_time(file: str, zone: tzinfo) -> datetime | None:
    """The time in the name as UTC, the innermost one of a path; None without a date and a clock.

    A time without a zone of its own is in `zone`, as in the content of a file.
    """
    stamps = list(_STAMP.finditer(file))
    if not stamps:
        return None
    found = stamps[-1]
    year, month, day, hour, minute = (
        int(found[part]) for part in ("year", "month", "day", "hour", "minute")
    )
    try:
        moment = datetime(
            year,
            month,
            day,
            hour,
            minute,
            int(found["second"] or 0),
            tzinfo=_zone(found["zone"], zone),
        )
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def machines(
    files: Mapping[str, str],
    devices: Iterable[tuple[str, str]],
    without_device: Collection[str] = (),
) -> dict[str, str]:
    """Which machine each file without a host was taken on: file -> name of a machine.

    `files` maps each such file to its format; `devices` are (file, serial or UUID) as files state them.
    Files of several tools are taken for one machine, as somebody sends them; two files of one tool are
    not, unless their names form a series or they state the same device. Then what lies in one folder
    belongs together, and else each series stands alone. Files that name no device either
    (`without_device`) are of one device only where they form a series. {} where all is one.
    """
    joined = _joined_by_device({file: series_name(file) for file in files}, devices)
    placed = {file: form for file, form in files.items() if file not in without_device}
    found: dict[str, str] = {}
    if _has_rivals(placed, joined):
        by_folder: dict[str, dict[str, str]] = {}
        for file, form in placed.items():
            by_folder.setdefault(_folder(joined[file]), {})[file] = form
        is_told = len(by_folder) > 1 and not any(_has_rivals(g, joined) for g in by_folder.values())
        found = {file: _folder(joined[file]) if is_told else joined[file] for file in placed}
    alone = {file: joined[file] for file in files if file in without_device}
    return found | alone if found or len(set(alone.values())) > 1 else {}


def _folder(series: str) -> str:
    return series.rpartition("/")[0] or "."


def _joined_by_device(series: dict[str, str], devices: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Series that state one device become the first of them."""
    first: dict[str, str] = {}
    for file, device in devices:
        if file in series and device:
            old, new = series[file], first.setdefault(device, series[file])
            if old != new:
                series = {name: new if one == old else one for name, one in series.items()}
                first = {name: new if one == old else one for name, one in first.items()}
    return series


def _has_rivals(files: Mapping[str, str], series: Mapping[str, str]) -> bool:
    """True when two files of one tool are of different series."""
    kinds: dict[str, str] = {}
    return any(
        kinds.setdefault(kind, series[file]) != series[file] for file, kind in files.items() if kind
    )


def _zone(text: str | None, default: tzinfo) -> tzinfo:
    if not text:
        return default
    if text in ("Z", "UTC"):
        return UTC
    offset = timedelta(hours=int(text[1:3]), minutes=int(text[-2:]))
    return timezone(-offset if text[0] == "-" else offset)


def _place(file: str) -> Place:
    return _parsed(file)[1]


@lru_cache(maxsize=65536)
def _parsed(file: str) -> tuple[str, Place]:
    """The masked name, and the masked parts as numbers in the order they stand."""
    masked: list[str] = []
    place: list[int] = []
    end = 0
    for found in _STAMP.finditer(file):
        _take(file[end : found.start()], masked, place)
        digits = "".join(found[part] or "" for part in ("year", "month", "day", "hour", "minute"))
        place.append(int(digits) * 100 + int(found["second"] or 0))
        masked.append("<time>")
        end = found.end()
    _take(file[end:], masked, place)
    return "".join(masked), tuple(place)


def _take(text: str, masked: list[str], place: list[int]) -> None:
    """Mask the words, counted letters and standing numbers of a piece of a name."""
    tokens = _TOKEN.findall(text)
    for at, token in enumerate(tokens):
        word = _word_before(tokens, at)
        kind, rank = _rank(token, tokens, at, word)
        masked.append(kind or token)
        if kind:
            place.append(rank)


def _rank(token: str, tokens: Sequence[str], at: int, word: str) -> tuple[str, int]:
    """What kind of order a part of a name states, and its number in it; ("", 0) when it names something."""
    lower = token.lower()
    if token.isdecimal():
        is_apart = at == 0 or not tokens[at - 1].isalpha()
        counts = word in _COUNTED or (is_apart and word not in _NAMING)
        number = int(token[:18])
        # Of rotated logs the highest number is the oldest.
        return ("<number>", -number if word == "log" else number) if counts else ("", 0)
    if lower in _WORDS:
        return "<word>", _WORDS[lower]
    if len(token) == 1 and token.isalpha() and word in _COUNTED:
        return "<letter>", ord(lower)
    return "", 0


def _word_before(tokens: Sequence[str], at: int) -> str:
    """The word just before a token, over one separator within the same part of a path; "" without one."""
    if at and tokens[at - 1].isalpha():
        return tokens[at - 1].lower()
    if at > 1 and tokens[at - 1] in ("-", "_", ".", " ") and tokens[at - 2].isalpha():
        return tokens[at - 2].lower()
    return ""
