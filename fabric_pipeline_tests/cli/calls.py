"""Calling the command as its console entry point does, errors and exit codes included."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from fabric_pipeline.cli.main import main


@dataclass(frozen=True)
class Answer:
    """What a call printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Stdout as one JSON document; NaN and Infinity are not JSON."""

        def refuse(name: str) -> None:
            raise ValueError(f"{name} is not JSON")

        return json.loads(self.out, parse_constant=refuse)


@dataclass(frozen=True)
class Shell:
    """`shell("tickets", "--json")` is `fabric-pipeline tickets --json`."""

    patch: pytest.MonkeyPatch
    captured: pytest.CaptureFixture[str]

    def __call__(self, *words: object, stdin: str | bytes = "") -> Answer:
        """Run in this process; `stdin` as a pipe gives it."""
        piped = stdin.encode() if isinstance(stdin, str) else stdin
        with self.patch.context() as patch:
            patch.setattr(sys, "argv", ["fabric-pipeline", *map(str, words)])
            stream = io.TextIOWrapper(io.BytesIO(piped), encoding="utf-8")
            patch.setattr(sys, "stdin", stream)
            self.captured.readouterr()
            try:
                main()
                code = 0
            except SystemExit as end:
                code = int(end.code or 0)
        out, err = self.captured.readouterr()
        return Answer(code, out, err)
