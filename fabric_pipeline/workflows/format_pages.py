"""The page `docs/formats.md`: every built-in format with its tool, versions, recognition, yield, traps.

All facts are the notes that stand with the readers; only the order and the headings are made here.
Readers of other packages are left out, because the page must not depend on what is installed.
"""

from __future__ import annotations

from collections.abc import Iterator

from fabric_pipeline.sources.base import Reader, note_of
from fabric_pipeline.sources.registry import BUILT_IN, reader_for

# Part of the module path behind `fabric_pipeline.sources` -> heading; the rest are host formats.
_GROUPS = {
    "nvidia_smi": "nvidia-smi",
    "dcgmi": "DCGM on the host",
    "prometheus": "Exporters and monitoring servers",
    "infiniband": "InfiniBand and RoCE",
    "ufm_event": "InfiniBand and RoCE",
    "kernel_log": "Kernel, hosts and NVSwitch",
    "collectives": "Collectives and training",
    "normalized": "The normalized form and reference cases",
    "reference_case": "The normalized form and reference cases",
}
_HOSTS = "Kernel, hosts and NVSwitch"
_INTRO = """\
# Formats

What can be read: {count} formats, recognised by content and never by file name. Written by `make docs`
from the notes that stand with the readers. *Versions* are those whose output was read; others are tried
all the same, and what does not fit is refused line by line. A *trap* is what a reader refuses to conclude
or what is easily misread. [Adding a reader](how_to/add_a_reader.md) tells how to add one;
`fabric-pipeline doctor --formats` lists those of your installation.
"""
_LAST = """\
## Not read, and why

What is set aside instead of being read, with the reason: [formats_not_read.md](formats_not_read.md).
"""


def formats_page() -> str:
    """The whole page as Markdown."""
    by_group: dict[str, list[Reader]] = {title: [] for title in _GROUPS.values()}
    for format_id in sorted(BUILT_IN):
        by_group[_group_of(BUILT_IN[format_id])].append(reader_for(format_id))
    lines = [_INTRO.format(count=len(BUILT_IN))]
    lines += ["| format | tool | yields |", "| --- | --- | --- |"]
    lines += [_row(reader) for group in by_group.values() for reader in group]
    for title, group in by_group.items():
        lines += ["", f"## {title}"]
        lines += [line for reader in group for line in _section(reader)]
    return "\n".join([*lines, "", _LAST])


def _group_of(target: str) -> str:
    part = target.removeprefix("fabric_pipeline.sources.").partition(":")[0].partition(".")[0]
    return _GROUPS.get(part, _HOSTS)


def _row(reader: Reader) -> str:
    note = note_of(reader)
    tool = note.tool.replace("|", "\\|") if note else "no note"
    return f"| [{reader.format_id}](#{reader.format_id}) | {tool} | {_records(reader)} |"


def _section(reader: Reader) -> Iterator[str]:
    yield from ("", f"### {reader.format_id}", "")
    note = note_of(reader)
    if note is None:
        yield f"Yields {_records(reader)}. The reader has no note."
        return
    yield f"- Tool: {note.tool}"
    yield f"- Versions: {note.versions}"
    yield f"- Recognised by: {note.recognised_by}"
    yield (
        f"- Yields {_records(reader)}: {note.gives}" if reader.yields else f"- Yields {note.gives}"
    )
    yield "- Traps:"
    yield from (f"  - {trap}" for trap in note.traps)


def _records(reader: Reader) -> str:
    """The kinds of records; `bulk` are readings that no step reads one by one."""
    kinds = {"readings" if kind == "bulk" else kind for kind in reader.yields}
    return ", ".join(sorted(kinds)) or "facts"
