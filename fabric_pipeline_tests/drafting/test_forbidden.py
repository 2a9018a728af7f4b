"""What no draft may contain, in many spellings, and the ordinary sentences that must pass."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric_pipeline.drafting.forbidden import MAX_CHARACTERS, forbidden, in_other_words
from fabric_pipeline.drafting.sanitise import clean
from fabric_pipeline_tests.drafting.sentences import DISGUISED, ORDERS, ORDINARY
from fabric_pipeline_tests.pipeline_runs import ROOT

CATALOGUE_FILES = sorted((ROOT / "data" / "catalogue").glob("*.yaml"))
# Where a text of the catalogue comes from and which parts it lists: shown as they are, never drafted.
NOT_WORDED = {"sources", "source", "known_parts", "parts", "part_references"}
# Orders that stand on their words alone, for the disguises that the property puts on them.
PLAIN_ORDERS = [
    "reboot the node", "restart the host", "reset the gpu", "shut down the host", "power cycle the node",
    "disable the port", "flash the firmware", "reload the driver", "run ipmitool chassis power",
    "kubectl cordon the node", "toggle the link", "bounce the interface",
]  # fmt: skip


def refused(text: str) -> bool:
    return bool(forbidden(text)) or bool(in_other_words(text))


@pytest.mark.parametrize("text", [*ORDERS, *DISGUISED])
def test_orders_are_refused_in_any_spelling(text: str) -> None:
    assert refused(text)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_sentences_pass(text: str) -> None:
    assert forbidden(text) == ()
    assert in_other_words(text) == []


@pytest.mark.parametrize("file", CATALOGUE_FILES, ids=lambda file: file.stem)
def test_every_text_of_the_shipped_catalogue_passes(file: Path) -> None:
    held = [text for text in worded(yaml.safe_load(file.read_text())) if len(text) > 20]
    assert len(held) >= 10
    assert [text for text in held if refused(text)] == []


def worded(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [
            text for key, item in value.items() if key not in NOT_WORDED for text in worded(item)
        ]
    if isinstance(value, list):
        return [text for item in value for text in worded(item)]
    return [value] if isinstance(value, str) else []


@settings(max_examples=150)
@given(
    order=st.sampled_from(PLAIN_ORDERS),
    seed=st.integers(0, 10_000),
    ordinary=st.sampled_from(ORDINARY),
)
def test_case_blanks_and_invisible_characters_hide_no_order(
    order: str, seed: int, ordinary: str
) -> None:
    chance = random.Random(seed)  # noqa: S311
    gaps = ["", "", "", " ", ".", "-", "\u200b", "\u2060", "\u00ad", "\u0336", "_"]
    hidden = "".join(
        (char.upper() if chance.random() < 0.5 else char) + chance.choice(gaps) for char in order
    )
    text = f"{ordinary} {hidden} and note it."
    assert any("asks for" in reason for reason in forbidden(text)), text


@settings(max_examples=100)
@given(st.text(max_size=200))
def test_cleaned_text_holds_nothing_invisible(text: str) -> None:
    assert "it contains invisible characters" not in forbidden(clean(text))


@pytest.mark.parametrize("text", ORDERS)
def test_reasons_do_not_repeat_the_order(text: str) -> None:
    assert text.lower() not in " ".join(forbidden(text)).lower()


def test_own_sentences_may_name_a_restart_as_a_cause() -> None:
    cause = "Links train again after a restart, so this is a note."
    assert forbidden(cause)
    assert forbidden(cause, own_words=True) == ()


@pytest.mark.parametrize(
    "text", ["do a reboot", "Restart the node", "fix it by a reset", "a reboot the node"]
)
def test_own_sentences_may_not_order_one(text: str) -> None:
    assert forbidden(text, own_words=True)


@pytest.mark.parametrize(
    "piece",
    [
        "shut the ",
        "r e b ",
        "a",
        "set the ",
        "( ",
        "AB12",
        "%72",
        "write the value to ",
        ".",
        "ip l ",
        "=",
    ],
)
def test_long_text_takes_no_time(piece: str) -> None:
    text = (piece * 100_000)[:100_000]
    began = time.process_time()
    assert "it is longer than any field" in forbidden(text)
    assert time.process_time() - began < 3


def test_an_order_just_inside_the_limit_is_found() -> None:
    text = "a " * (MAX_CHARACTERS // 2 - 10) + "reboot it"
    assert "it asks for or names a reboot" in forbidden(text)
