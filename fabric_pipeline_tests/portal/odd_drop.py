"""A small drop in which names look like code, one node's counters say N/A, and one node says nothing.

It goes through the whole pipeline, so what pages show has passed every reader and every table. The two
faults of `small_drop` stay in it, on nodes with the first two names.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from fabric_pipeline_tests.small_drop import NODES, START, write_drop

SCRIPT = '<script>alert("n004")</script>'
TURNED = "\u202egnp.exe\u202c \u200fא"
QUOTES = "\"'><img src=x onerror=alert(1)>"
LONG = "n" * 500
NAMES = (SCRIPT, "=1+1", TURNED, QUOTES, LONG, "line\nbreak\tand\x07bell", "../../etc/passwd?x=%2e#y", "</text></svg><script>alert(2)</script>")  # fmt: skip
UNREAD, SILENT = "calc-na", "calc-silent"
_RENAMED = dict(zip(NODES, NAMES, strict=False)) | {"A": TURNED, "r1": QUOTES, "test-hall": SCRIPT}
# What free texts of the topology begin with; names of ports and kinds of links have their own grammar.
_BEFORE = {"unit": "=1+1 ", "serial": "=2+3;", "uuid": SCRIPT, "id": QUOTES}


def write_odd_drop(folder: Path) -> Path:
    """The drop in `folder`, its files as a hostile or careless source would write them."""
    write_drop(folder)
    meta = {"cluster": QUOTES, "site": SCRIPT, "timezone": "UTC"}
    (folder / "drop.yaml").write_text("\n".join(f"{k}: {json.dumps(v)}" for k, v in meta.items()))
    topology = json.loads((folder / "topology.json").read_text())
    _add_nodes(topology)
    (folder / "topology.json").write_text(json.dumps(_odd(topology)))
    _rewrite(folder / "counters.csv", more=True)
    _rewrite(folder / "collectives.csv", more=False)
    runs = [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]
    for run in runs:
        run |= {"run": SCRIPT + run["run"], "nodes": [_RENAMED[name] for name in run["nodes"]]}
    (folder / "runs.jsonl").write_text("".join(f"{json.dumps(run)}\n" for run in runs))
    event = {"ts": START.isoformat(), "node": SCRIPT, "component": "gpu1", "kind": TURNED}
    (folder / "events.jsonl").write_text(json.dumps(event | {"text": QUOTES + "\n=1+1"}) + "\n")
    return folder


def _odd(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _odd(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_odd(each, key) for each in value]
    if not isinstance(value, str):
        return value
    return _RENAMED.get(value) or _BEFORE.get(key, "") + value


def _add_nodes(topology: dict[str, Any]) -> None:
    """Nodes like the first one, with all their links, for the other names."""
    first = NODES[0]
    nodes, links = topology["nodes"], topology["links"]
    for place, name in enumerate((*NAMES[2:], UNREAD, SILENT), 3):
        where = {"node": name, "row": name, "rack": name, "serial": f"SN-{place}{LONG[:250]}"}
        nodes.append(nodes[0] | where)
        for link in [one for one in links if one["a"]["node"] == first]:
            ends = {side: link[side] | {"node": name} for side in "ab"}
            links.append(link | ends | {"id": f"{place}{link['id']}"})


def _rewrite(path: Path, *, more: bool) -> None:
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    others = [row for row in rows if row["node"] == NODES[0]] if more else []
    quiet = {"replay": "0", "crc_multi_bit": "0"}
    copies = [row | quiet | {"node": name} for name in NAMES[2:] for row in others[::60]]
    copies += [row | dict.fromkeys(quiet, "N/A") | {"node": UNREAD} for row in others]
    for row in rows:
        row["node"] = _RENAMED[row["node"]]
        if "run" in row:
            row |= {"run": SCRIPT + row["run"], "comm": TURNED}
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows + copies)
