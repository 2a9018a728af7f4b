"""Drops with files of every way of reading, and reading them with large files set aside at any size."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fabric_pipeline.engine.base import Done, Engine, Item, Result
from fabric_pipeline.engine.local import LocalEngine
from fabric_pipeline.model.progress import Tell, silent
from fabric_pipeline.settings import Settings
from fabric_pipeline.sources.drop import list_drop
from fabric_pipeline.store.duck import session
from fabric_pipeline.workflows import ingest, log_sifting, series_staging, staged_shards
from fabric_pipeline.workflows.drop_stages import INGEST_TABLES
from fabric_pipeline.workflows.staged_shards import aside_of
from fabric_pipeline_tests.pipeline_runs import ROOT

AT = datetime(2026, 12, 1, tzinfo=UTC)
START_S = 1_790_000_000
_LABELS = 'gpu="{gpu}",UUID="GPU-{gpu}",device="nvidia{gpu}",Hostname="elm-07",nvlink="{link}"'


def dcgm_text(scrapes: int = 3) -> str:
    """Two counters of some links, scrape by scrape, with a blank, a broken line and one from a clock ahead."""
    lines = []
    for n in range(scrapes):
        stamp = (START_S + 60 * n) * 1000
        for name in ("CRC_FLIT_ERROR", "REPLAY_ERROR"):
            metric = f"DCGM_FI_DEV_NVLINK_{name}_COUNT_TOTAL"
            lines.append(f"# TYPE {metric} counter")
            for place in range(12):
                labels = _LABELS.format(gpu=place // 3, link=place % 3)
                value = 18446744073709551615 if place == 5 else n * place
                lines.append(f"{metric}{{{labels}}} {value} {stamp}")
    lines += [
        'DCGM_FI_DEV_XID_ERRORS{gpu="1",device="nvidia1",Hostname="elm-07"} 74',
        'broken{gpu="1 7',
    ]
    return "\n".join(lines) + "\n"


def query_text() -> str:
    """A matrix of the query API."""
    values = [[START_S + 60 * n + 0.123, str(n % 7)] for n in range(5)]
    name = "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL"
    series = [
        {
            "metric": {"__name__": name, "Hostname": "elm-08", "gpu": "0", "nvlink": str(n)},
            "values": values,
        }
        for n in range(6)
    ]
    told = {"status": "success", "data": {"resultType": "matrix", "result": series}}
    return json.dumps(told, separators=(",", ":"))


def mixed() -> dict[str, str | bytes]:
    """A drop in which files name nodes for others, times have no zone, and lines are refused."""
    log = "".join(f"Sep 21 10:00:{n % 60:02d} elm-07 sshd[7]: closed {n}\n" for n in range(40))
    log += "Sep 21 10:01:00 elm-07 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n"
    counters = "ts,node,link_type,link,gpu,counter,value\n" + "".join(
        f"2026-09-21T10:{n:02d}:00,elm-07,nvlink,nvlink-{n % 4},{n % 8},{name},{value}\n"
        for n in range(30)
        for name, value in (("crc_flit", n), ("no_such", 3), ("replay", "N/A"), ("replay", "-4"))
    )
    rows = [
        {"ts": f"2026-09-21T11:{n:02d}:00Z", "node": "elm-09", "link": "gpu0/nvlink-1", "link_type": "nvlink", "crc_flit": n, "replay": None}
        for n in range(20)
    ]  # fmt: skip
    jsonl = "".join(json.dumps(row) + "\n" for row in rows) + '{"ts": 5\n[1]\n'
    dmon = "#Entity   NFELT       NREL0       XIDER\nID\n"
    dmon += (
        "".join(f"GPU {n % 8}     {n}   N/A     {n % 2 * 74}\n" for n in range(30)) + "GPU 1 5\n"
    )
    node = 'node_infiniband_symbol_error_total{device="mlx5_0",port="1"} 7\n'
    return {
        "drop.yaml": "timezone: Europe/Berlin\n",
        "a_tree.conf": "SwitchName=leaf1 Nodes=quiet,elm-07\n",
        "node.prom": node,
        "counters.csv": counters,
        "dcgm.prom": dcgm_text(),
        "dmon.txt": dmon,
        "more.jsonl": jsonl,
        "query.json": query_text(),
        # Folders that are no host's by their looks; a file of the same turn names the first.
        "quiet/kern.log": "Sep 21 10:02:00 kernel: NVRM: Xid (PCI:0000:3b:00): 74, pid=1, x\n",
        "quiet/dmon.txt": dmon,
        "elm-10/syslog": log,
        "empty.txt": "",
        "unknown.txt": "no reader knows this\n",
        "torn.csv": "ts,node,link_type,link,counter,value,value\n1,2,3,4,5,6,7\n",
    }


@dataclass
class Elsewhere(LocalEngine):
    """An engine to which everything travels and that loses what it is told to lose."""

    lost: Callable[[Any], bool] = lambda _: False
    worked: list[str] = field(default_factory=list)
    name = "elsewhere"

    def map(
        self,
        work: Callable[[Item], Result],
        items: Sequence[Item],
        *,
        words: str = "",
        tell: Tell = silent,
    ) -> list[Done[Result]]:
        """See `Engine.map`."""

        def travelled(item: Item) -> Result:
            if self.lost(item):
                raise MemoryError("worker is gone")
            self.worked.append(item.stamp.name)  # type: ignore[attr-defined]
            answer: Result = pickle.loads(pickle.dumps(work(pickle.loads(pickle.dumps(item)))))  # noqa: S301
            return answer

        return super().map(travelled, items, words=words, tell=tell)


@dataclass
class Read:
    """One reading: the rows of the ingest tables as hashes, all else it says, and files that were gone through."""

    tables: dict[str, tuple[int, str]]
    said: dict[str, Any]
    gone_through: list[str]

    @property
    def outcome(self) -> tuple[dict[str, tuple[int, str]], str]:
        """What has to be equal however it was read, down to the order of keys."""
        return self.tables, repr(self.said)


class Reads:
    """Reads drops into homes below a folder; files of any size are set aside unless said."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        """Only the sizes are changed, and reading is watched."""
        self._folder, self._patch = folder, patch
        for name in ("_LEAST_KEPT", "_LEAST_SENT"):
            patch.setattr(staged_shards, name, 1)
        for module in (series_staging, log_sifting):
            patch.setattr(module, "LARGE", 1)
        self._gone: list[str] = []
        for module in (ingest, staged_shards):
            patch.setattr(module, "understood", self._watched(module.understood))

    def settings(self, home: str) -> Settings:
        """Of one home."""
        return Settings(root=ROOT, home=self._folder / home)

    def kept(self, home: str) -> list[Path]:
        """Folders of what is kept."""
        results = self.settings(home).staged / "results"
        return sorted(results.iterdir()) if results.is_dir() else []

    def __call__(
        self,
        home: str,
        drop: Path,
        *,
        engine: Engine | None = None,
        at: datetime = AT,
        aside: bool = True,
    ) -> Read:
        """Read a drop."""
        self._gone = []
        self._patch.setattr(staged_shards, "FROM_BYTES", 1 if aside else 1 << 60)
        place = aside_of(self.settings(home), engine or LocalEngine())
        with closing(session()) as con:
            done = ingest.ingest(con, list_drop(drop), "d", at, aside=place)
            tables = {name: _hashed(con, name) for name in INGEST_TABLES}
        said = {f.name: getattr(done, f.name) for f in fields(done)}
        said["topology"] = [asdict(part) for part in done.topology.parts()]
        return Read(tables, said, self._gone)

    def _watched(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def watched(connection: Any, file: Any, *rest: Any) -> Any:
            self._gone.append(file.name)
            return original(connection, file, *rest)

        return watched


def _hashed(connection: Any, table: str) -> tuple[int, str]:
    """Number of rows and a hash of them in their order."""
    rows = f"select row_number() over () as number, hash(one)::varchar as told from {table} one"
    found: tuple[int, str] = connection.execute(
        f"select count(*), md5(string_agg(told, '' order by number)) from ({rows})"
    ).fetchone()
    return found
