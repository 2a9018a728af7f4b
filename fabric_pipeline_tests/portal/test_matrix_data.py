"""What the matrix is drawn from: bytes and texts, one kind alone, counts, and drops without pairs."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabric_pipeline_tests.portal.auditor_homes import HOSTILE_NODE as HOSTILE
from fabric_pipeline_tests.portal.auditor_homes import NODES, portal, troubled_home
from fabric_pipeline_tests.portal.serving import ask
from fabric_pipeline_tests.workflows.fabric_lake import healthy_lake


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with portal(troubled_home(tmp_path_factory.mktemp("home"))) as address:
        yield address


def test_the_data_are_bytes_with_hostile_names_as_texts(url: str) -> None:
    answer = ask(url, "/api/matrix")
    assert answer.headers["content-type"] == "application/json"
    assert "<script" not in answer.text
    nodes = json.loads(answer.text)["sections"][0]
    assert nodes["open"] == 3
    assert nodes["rows"][1][1] == f"{HOSTILE}:"
    assert "\u202e" not in nodes["rows"][1][0]
    width = sum(len(names) for _, names in nodes["groups"])
    assert len(b64decode(nodes["cells"])) == width * len(NODES)
    page = ask(url, "/matrix").text
    assert "<script>alert" not in page
    assert "\u202e" not in page


def test_one_kind_and_unknown_kinds(url: str) -> None:
    groups = json.loads(ask(url, "/api/matrix?kind=pcie").text)["sections"][0]["groups"]
    assert [group for group, _ in groups] == ["PCIe"]
    assert "PCIe only" in ask(url, "/matrix?kind=pcie").text
    assert ask(url, "/matrix?kind=steam").status == 400
    assert ask(url, "/matrix?drop=none").status == 404


def test_a_drop_without_pairs_says_so(tmp_path: Path) -> None:
    with portal(healthy_lake(tmp_path).settings) as url:
        assert "This drop has no pair timings" in ask(url, "/matrix/p2p").text
        assert json.loads(ask(url, "/api/matrix/p2p").text) == {"sections": []}
        assert "No link of this drop is in trouble" in ask(url, "/matrix").text


def test_links_are_counted_by_kind_and_state(url: str) -> None:
    text = re.sub(r"<[^>]*>|\s+", " ", ask(url, "/matrix").text)
    # critical, warning, watch, no data, healthy, all: 21 nodes with 24 NVLinks each, one of them silent
    assert re.search(r"NVLink\s+1\s+0\s+0\s+24\s+479\s+504\s", text)
