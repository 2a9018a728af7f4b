"""The component grammar: every name has one spelling, there and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.model.components import (
    Component,
    component_id,
    device_of,
    gpu_index,
    link_type_of,
    natural_key,
    normalise_pci,
    nvlink_index,
    parse_component,
    port_index,
)

NAME = st.text(st.characters(exclude_characters=":", codec="utf-8"), min_size=1, max_size=20)
NODES = st.one_of(st.just(""), NAME).filter(lambda text: text != "unknown")
INTERFACES = st.one_of(
    st.just(""),
    st.builds("gpu{}/nvlink-{}".format, st.integers(0, 255), st.integers(0, 63)),
    st.builds("pci-0000:{:02x}:00.0/pcie".format, st.integers(0, 255)),
    st.builds("nvswitch-{}/port-{}".format, st.integers(0, 9), st.integers(0, 99)),
    st.builds("mlx5_{}/{}".format, st.integers(0, 15), st.integers(1, 2)),
)


@given(NODES, INTERFACES, st.one_of(st.none(), st.integers(0, 15)))
def test_a_component_comes_back_from_its_text(node: str, interface: str, lane: int | None) -> None:
    component = Component(node, interface, lane)
    assert parse_component(component.id) == component
    assert component_id(node, interface, lane) == component.id


@given(st.text(max_size=60))
def test_any_text_has_a_settled_form(text: str) -> None:
    settled = parse_component(text).id
    assert parse_component(settled).id == settled


def test_unknown_halves_are_said() -> None:
    assert component_id("", "") == "unknown:unknown"
    assert component_id("n1", "") == "n1:unknown"
    assert component_id("", "nvlink-3", 2) == "unknown:nvlink-3/lane-2"
    assert parse_component("unknown:unknown") == Component("", "")
    assert parse_component("n1") == Component("n1", "")


def test_a_pci_address_stays_whole() -> None:
    parsed = parse_component("n1:pci-0000:5d:00.0/nvlink-4/lane-1")
    assert parsed == Component("n1", "pci-0000:5d:00.0/nvlink-4", 1)


@pytest.mark.parametrize(
    ("interface", "gpu", "nvlink", "port", "device", "link_type"),
    [
        ("gpu5/nvlink-11", 5, 11, None, "gpu5", "nvlink"),
        ("gpu5/pcie", 5, None, None, "gpu5", "pcie"),
        ("gpu5", 5, None, None, "gpu5", ""),
        ("nvlink-3", None, 3, None, "nvlink-3", "nvlink"),
        ("pcie-switch-0", None, None, None, "pcie-switch-0", "pcie"),
        ("pci-0000:5d:00.0", None, None, None, "pci-0000:5d:00.0", "pcie"),
        ("pci-0000:5d:00.0/nvlink-2", None, 2, None, "pci-0000:5d:00.0", "nvlink"),
        ("nvswitch-2/port-34", None, None, 34, "nvswitch-2", "nvlink"),
        ("leaf-4/port-12", None, None, 12, "leaf-4", "infiniband"),
        ("mlx5_3/1", None, None, None, "mlx5_3", "infiniband"),
        ("rocep1s0f1/1", None, None, None, "rocep1s0f1", "infiniband"),
        ("mlx5_3/pcie", None, None, None, "mlx5_3", "pcie"),
        ("eth0", None, None, None, "eth0", ""),
        ("", None, None, None, "", ""),
        ("gpux/nvlink-", None, None, None, "gpux", ""),
    ],
)
def test_what_a_name_tells_by_itself(
    interface: str,
    gpu: int | None,
    nvlink: int | None,
    port: int | None,
    device: str,
    link_type: str,
) -> None:
    assert gpu_index(interface) == gpu
    assert nvlink_index(interface) == nvlink
    assert port_index(interface) == port
    assert device_of(interface) == device
    assert link_type_of(interface) == link_type


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("9C:00.0", "0000:9c:00.0"),
        ("9c:00", "0000:9c:00.0"),
        ("00000000:9C:00.0", "0000:9c:00.0"),
        (" 0000:9c:00.7\n", "0000:9c:00.7"),
        ("00010000:9C:00.0", "10000:9c:00.0"),
        ("0002:9c:1f.1", "0002:9c:1f.1"),
        ("9c:00.8", "9c:00.8"),  # a device has eight functions
        ("GPU-1234", "gpu-1234"),
        ("", ""),
    ],
)
def test_pci_addresses_have_one_spelling(text: str, full: str) -> None:
    assert normalise_pci(text) == full
    assert normalise_pci(full) == full


@given(st.lists(st.text(max_size=12), max_size=8))
def test_any_names_can_be_sorted(names: list[str]) -> None:
    assert len(sorted(names, key=natural_key)) == len(names)


def test_numbers_sort_as_numbers() -> None:
    names = ["nvlink-11", "nvlink-9", "gpu10", "gpu2", "5²", "²"]
    assert sorted(names, key=natural_key) == ["5²", "gpu2", "gpu10", "nvlink-9", "nvlink-11", "²"]
