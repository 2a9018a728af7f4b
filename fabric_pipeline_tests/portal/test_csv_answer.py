"""CSV for spreadsheets: no cell can run, numbers stay numbers, rows read back as they were."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.portal.csv_answer import FORMULA_STARTS, attachment, safe_cell


@pytest.mark.parametrize("start", FORMULA_STARTS)
def test_what_a_spreadsheet_would_run_gets_an_apostrophe(start: str) -> None:
    assert safe_cell(f"{start}1+1") == f"'{start}1+1"
    assert safe_cell(f"x{start}") == f"x{start}"


@pytest.mark.parametrize("number", ["-1", "-0.5", "-1e-12", "12.5"])
def test_numbers_stay_as_they_are(number: str) -> None:
    assert safe_cell(number) == number
    assert safe_cell(float(number)) == float(number)


@pytest.mark.parametrize("text", ["-1+1", "--1", "-", "-1-cmd|' /C calc'!A0", "+1", "-1e"])
def test_what_only_begins_like_a_number_is_a_text(text: str) -> None:
    assert safe_cell(text) == f"'{text}"


@given(st.text(max_size=40))
def test_no_text_starts_a_formula(text: str) -> None:
    shown = str(safe_cell(text))
    assert shown.removeprefix("'") == text.removeprefix("'") or shown == text
    assert not shown.startswith(FORMULA_STARTS) or float(shown) <= 0


@given(st.text(max_size=60))
def test_the_name_of_a_download_stays_in_its_header(name: str) -> None:
    header = attachment(name)
    assert header.isascii()
    assert "\n" not in header
    assert "\r" not in header
    assert header.count('"') == 2
    assert header.startswith("attachment;")


def test_cells_read_back() -> None:
    text = io.StringIO()
    csv.writer(text).writerow([safe_cell("=1+1"), safe_cell('a "b"\nc'), safe_cell(None)])
    assert next(csv.reader(io.StringIO(text.getvalue()))) == ["'=1+1", 'a "b"\nc', ""]
