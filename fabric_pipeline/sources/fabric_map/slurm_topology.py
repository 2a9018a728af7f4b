"""Reader of Slurm's `topology.conf` and `topology.yaml`: which nodes hang on which switch or block.

Both spellings fill one `SlurmTree`. Host lists are spelt out; what they may name is bounded there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

import yaml

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.fabric_map.slurm_tree import SlurmTree

_LINE = re.compile(r"^[ \t]{0,40}(?:SwitchName|BlockName|BlockSizes)\s?=", re.I | re.M)
_PAIR = re.compile(r"([A-Za-z]{2,40})\s?=\s?(\S{1,100000})")
_YAML = re.compile(r"^\s{0,20}-\s{1,10}topology\s?:", re.M)
_YAML_KIND = re.compile(r"^\s{1,40}(?:tree|block|flat|ring)\s?:", re.M)
_YAML_BYTES = 1024 * 1024  # 65,536 nodes of a short name each, spelt out one by one, fit
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_ANCHOR = re.compile(r"(?:^|[\s:\-\[,])[&*][A-Za-z0-9_]", re.M)


class SlurmTopologyReader:
    """Reads both spellings; yields switches with tiers, and nodes with their switches and block."""

    format_id: ClassVar[str] = "slurm_topology"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"topology"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="Slurm, topology.conf and topology.yaml",
        versions="written after the manuals of Slurm 23.11 to 25.05",
        recognised_by=(
            "lines `SwitchName=... Nodes=...` or `BlockName=... Nodes=...`, or a YAML list of "
            "`topology:` with a tree or blocks"
        ),
        gives="the switches above each node with their tier, and the block of each node",
        traps=(
            "A switch of Slurm may be a rack or a room: no link is made of it.",
            "No ports stand there, so it can contradict a cabling plan and never complete one.",
            "The file lists a whole cluster: a node without telemetry is not taken for silent.",
            "A host list of more than 65,536 names is refused, and so is `ALL`.",
            "LinkSpeed has no unit of its own and is kept as it is written.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with two statements of the file's own words, likely with one."""
        if file.is_binary:
            return 0
        if found := sum(1 for _ in zip(range(2), _LINE.finditer(file.head), strict=False)):
            return 85 + 5 * found
        return 93 if _YAML.search(file.head) and _YAML_KIND.search(file.head) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """Topology and counts; every statement that cannot be used is refused with its line."""
        tree = SlurmTree(ReadResult())
        if _LINE.search(file.head):
            for line, text in _statements(file):
                _take(tree, line, text)
        else:
            _take_yaml(tree, file)
        tree.result.topology = tree.topology()
        if told := tree.facts():
            tree.result.facts["slurm_topology"] = told
        return tree.result


def _statements(file: SourceFile) -> Iterator[tuple[int, str]]:
    """Lines without comments; a backslash at the end joins the next line."""
    start, held = 0, ""
    for number, line in enumerate(file.lines, 1):
        text = line.partition("#")[0].rstrip()
        start = start or number
        if text.endswith("\\"):
            held += text[:-1] + " "
            continue
        if (held + text).strip():
            yield start, held + text
        start, held = 0, ""
    if held.strip():
        yield start, held


def _take(tree: SlurmTree, line: int, text: str) -> None:
    values = {key.lower(): value for key, value in _PAIR.findall(text)}
    if "switchname" in values:
        speed = values.get("linkspeed", "")
        switches, nodes = values.get("switches", ""), values.get("nodes", "")
        if not switches and not nodes:
            tree.refuse(line, text, "a switch names neither nodes nor switches below it")
            return
        tree.switch(line, values["switchname"], switches=switches, nodes=nodes, speed=speed)
    elif "blockname" in values:
        if not values.get("nodes"):
            tree.refuse(line, text, "a block names no nodes")
            return
        tree.block(line, values["blockname"][:300], values["nodes"])
    elif "blocksizes" in values:
        tree.sizes = [size for size in values["blocksizes"].split(",") if size.isdecimal()][:32]
    else:
        tree.refuse(line, text, "the line holds neither a switch nor a block")


def _take_yaml(tree: SlurmTree, file: SourceFile) -> None:
    """Plain YAML only: anchors can make a small file endless, and Slurm needs none."""
    text = file.text
    if len(text) > _YAML_BYTES or _ANCHOR.search(text):
        tree.refuse(None, "", "a topology.yaml with anchors, or above 1 MiB, is not read")
        return
    try:
        document = yaml.load(text, Loader=_LOADER)  # noqa: S506 - the safe loader, in C where there is one
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as problem:
        mark = getattr(problem, "problem_mark", None)
        line = mark.line + 1 if mark else None
        shown = file.lines[line - 1] if line and line <= len(file.lines) else ""
        tree.refuse(line, shown, f"not readable as YAML ({type(problem).__name__})")
        return
    for entry in document if isinstance(document, list) else [document]:
        if not isinstance(entry, dict):
            tree.refuse(None, str(entry)[:200], "an entry is no topology")
            continue
        _take_entries(tree, entry.get("tree"), "switches", "switch")
        _take_entries(tree, entry.get("block"), "blocks", "block")
        sizes = entry["block"].get("block_sizes") if isinstance(entry.get("block"), dict) else None
        if isinstance(sizes, list):
            tree.sizes = [str(size)[:20] for size in sizes if isinstance(size, int)][:32]


def _take_entries(tree: SlurmTree, kind: Any, listed: str, name: str) -> None:
    entries = kind.get(listed) if isinstance(kind, dict) else None
    for entry in entries if isinstance(entries, list) else []:
        stated = entry if isinstance(entry, dict) else {}
        own, nodes, below = (_text(stated.get(key)) for key in (name, "nodes", "children"))
        if not own or not (nodes or below):
            tree.refuse(None, str(entry)[:200], f"a {name} has no name, or nothing below it")
        elif name == "switch":
            tree.switch(None, own, switches=below, nodes=nodes)
        else:
            tree.block(None, own[:300], nodes)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(str(one) for one in value if isinstance(one, str | int))
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
