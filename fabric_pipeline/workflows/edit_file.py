"""The changes of an edit as people give them: a JSON or YAML file, or FIELD=VALUE words.

Only reading and shape; which fields may be changed is checked in `edit_fields`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from fabric_pipeline.errors import BadInputError, UsageError

MAX_BYTES = 1_000_000  # a whole ticket as JSON has some 20,000


def changes_given(source: Path | None, assignments: Sequence[str]) -> dict[str, Any]:
    """Field -> new value from a file, then from FIELD=VALUE words, which win. Never empty.

    A value of a word is text; an empty one empties the field.
    """
    changes = {} if source is None else read_changes(source)
    for word in assignments:
        name, equals, value = word.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"{word[:80]!r} is not FIELD=VALUE", "such as --set rack=R12")
        changes[name.strip()] = value.strip()
    if not changes:
        raise UsageError(
            "no change is given", "name fields with --set FIELD=VALUE or a file with --from"
        )
    return changes


def read_changes(path: Path) -> dict[str, Any]:
    """Field -> new value of a JSON (`.json`) or YAML file; `BadInputError` when it is neither."""
    if not path.is_file():
        raise BadInputError(f"{path}: there is no such file", "check the path")
    if path.stat().st_size > MAX_BYTES:
        raise BadInputError(f"{path}: larger than {MAX_BYTES} bytes", "give only what is changed")
    try:
        text = path.read_text(encoding="utf-8-sig")
        value = json.loads(text) if path.suffix == ".json" else _yaml(text)
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        problem = " ".join(str(error).split())[:200]
        raise BadInputError(
            f"{path} is neither JSON nor YAML: {problem}", "correct the file and give it again"
        ) from error
    if not isinstance(value, dict):
        raise BadInputError(
            f"{path}: there is no list of fields with their new values", "such as `rack: R12`"
        )
    return {str(name): one for name, one in value.items()}


def _yaml(text: str) -> Any:
    """YAML without aliases: a few lines of them unfold into more than any memory holds."""
    if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):
        raise ValueError("it uses aliases (*name)")
    return yaml.safe_load(text)
