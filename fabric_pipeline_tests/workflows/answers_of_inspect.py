"""What `inspect` answers to invented files, and looking into the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fabric_pipeline.workflows.inspect import inspect
from fabric_pipeline_tests.workflows.readout import READ_AT, write


def answer_of(folder: Path, files: dict[str, str]) -> dict[str, Any]:
    return inspect([write(folder, files)], READ_AT)


def causes(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        one
        for one in answer["findings"]
        if one["role"] == "cause" and one["severity"] in ("warning", "critical")
    ]


def places(finding: dict[str, Any]) -> set[tuple[str, int]]:
    return {(Path(one["path"]).name, one["line"]) for one in finding["evidence"]}


def gaps(answer: dict[str, Any], component: str, what: str) -> list[str]:
    return [
        one["reason"]
        for one in answer["unknown"]
        if (one["component"], one["what"]) == (component, what)
    ]
