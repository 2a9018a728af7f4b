"""The code tables: what must never become a link matter, and what leads."""

from __future__ import annotations

import pytest

from fabric_pipeline.sources.kernel_log.sxid_catalog import sxid_meaning
from fabric_pipeline.sources.kernel_log.xid_catalog import XIDS, register_class, xid_meaning


@pytest.mark.parametrize("code", [13, 31, 43, 48, 62, 63, 64, 68, 92, 94, 95, 119, 120])
def test_gpu_and_program_codes_are_no_link_matter(code: int) -> None:
    assert not xid_meaning(code).is_link
    assert xid_meaning(code).role == "cause"


@pytest.mark.parametrize("code", [74, 79, 149])
def test_leading_codes_accuse_alone(code: int) -> None:
    meaning = xid_meaning(code)
    assert (meaning.is_link, meaning.role, meaning.severity) == (True, "cause", "critical")


@pytest.mark.parametrize("code", [45, 145])
def test_following_codes_never_accuse_alone(code: int) -> None:
    assert xid_meaning(code).role == "symptom"
    assert xid_meaning(code).is_sympathetic


def test_every_row_is_complete() -> None:
    for code, row in XIDS.items():
        assert code == row.code
        assert row.says
        assert row.severity in ("info", "watch", "warning", "critical")
        assert row.role in ("context", "symptom", "cause")


def test_register_without_bits_has_no_class() -> None:
    assert register_class([0, 0, 0]) == ("", [])
    assert register_class([1 << 4 | 1]) == ("parity", ["reg1.bit0", "reg1.bit4"])


def test_sxid_families_place_unlisted_codes() -> None:
    assert sxid_meaning(20034).is_fatal is True
    assert sxid_meaning(12028).is_fatal is False
    assert sxid_meaning(11999).is_fatal is None
    assert sxid_meaning(11999).per_port is True
    assert sxid_meaning(99999).says == "unlisted NVSwitch error"
