"""Slurm topology files: host lists, trees and blocks in both spellings, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.sources.fabric_map.hostlist import MAX_NAMES, BadHostListError, expand
from fabric_pipeline.sources.fabric_map.slurm_topology import SlurmTopologyReader
from fabric_pipeline_tests.sources.infiniband.files import read

READER = SlurmTopologyReader()
TREE = """# plan
SwitchName=fern-1 Nodes=oak-[01-02],ash7 \\
  LinkSpeed=200
SwitchName=fern-2 Nodes=oak-[03-03]
switchname=crown Switches=fern-[1-2]
SwitchName=lost
BlockName=b1 Nodes=oak-[01-02]
BlockSizes=2,4
Colour=red
SwitchName=all Nodes=ALL
"""
YAML = """---
- topology: one
  cluster_default: true
  tree:
    switches:
      - switch: crown
        children: fern-[1-2]
      - switch: fern-1
        nodes: oak-[01-02]
      - switch: fern-2
        nodes: [oak-03]
- topology: two
  block:
    block_sizes: [2, 4]
    blocks:
      - block: b1
        nodes: oak-[01-02]
      - block: b2
"""


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n[1-3,5],m", ["n1", "n2", "n3", "n5", "m"]),
        ("rack[01-02]n[8-10]x", [f"rack{r}n{n}x" for r in ("01", "02") for n in (8, 9, 10)]),
        ("n[09-11]", ["n09", "n10", "n11"]),
        ("a,a", ["a"]),
        ("", []),
    ],
)
def test_host_lists_are_spelt_out(text: str, names: list[str]) -> None:
    assert expand(text) == names


@pytest.mark.parametrize(
    "text", ["n[1-", "n]1", "n[[1]]", "n[3-1]", "n[x]", f"n[0-{MAX_NAMES}]", "a[0-999]b[0-999]"]
)
def test_host_lists_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(BadHostListError):
        expand(text)


@given(st.sets(st.integers(0, 9999), min_size=1, max_size=40))
def test_a_list_of_single_numbers_reads_back_equal(numbers: set[int]) -> None:
    text = f"n[{','.join(f'{number:04}' for number in sorted(numbers))}]"
    assert expand(text) == [f"n{number:04}" for number in sorted(numbers)]


def test_a_tree_with_blocks(tmp_path: Path) -> None:
    result = read(READER, tmp_path, TREE)
    assert result.topology is not None
    nodes = {node["node"]: node for node in result.topology.nodes}
    assert nodes["oak-01"] == {
        "node": "oak-01", "inventory": True, "leaf_switches": ["fern-1"], "block": "b1",
    }  # fmt: skip
    assert nodes["ash7"]["leaf_switches"] == ["fern-1"]
    switches = {switch["name"]: switch for switch in result.topology.switches}
    assert switches["fern-1"] == {"name": "fern-1", "tier": "leaf", "slurm_link_speed": "200"}
    assert (switches["crown"]["tier"], switches["crown"]["switches_below"]) == (
        "spine",
        ["fern-1", "fern-2"],
    )
    assert [refused.line for refused in result.rejected] == [6, 9, 10]
    assert result.topology.links == []


def test_the_yaml_spelling_says_the_same(tmp_path: Path) -> None:
    result = read(READER, tmp_path, YAML)
    assert result.topology is not None
    nodes = {node["node"]: node for node in result.topology.nodes}
    assert nodes["oak-02"]["leaf_switches"] == ["fern-1"]
    assert nodes["oak-02"]["block"] == "b1"
    assert nodes["oak-03"]["leaf_switches"] == ["fern-2"]
    assert result.facts["slurm_topology"]["block_sizes"] == ["2", "4"]
    assert [refused.rule for refused in result.rejected] == [
        "a block has no name, or nothing below it"
    ]


def test_yaml_that_grows_from_anchors_is_not_opened(tmp_path: Path) -> None:
    text = YAML + "- topology: x\n  tree: &a\n    switches: [*a]\n"
    result = read(READER, tmp_path, text)
    assert result.topology is None
    assert "anchors" in result.rejected[0].rule
