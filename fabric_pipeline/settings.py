"""All settings and paths, read from the environment in one place and passed on.

No other module reads an environment variable. Limits of detectors are not settings of this kind:
they live beside the detectors, with their sources.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fabric_pipeline.errors import UsageError

DEFAULT_MODEL = "claude-sonnet-5-5"
PORTAL_PORT = 8321
DAGSTER_PORT = 3000
DASK_WAIT_S = 300.0
# Some 1 GB of memory while it is counted, and some ten seconds of one core.
SHARD_READINGS = 4_000_000
# With this limit a drop of any size is diagnosed in about 2 GB, Python included; see docs/performance.md.
DEFAULT_MEMORY_LIMIT = "1500MB"
_MOST_OF_MACHINE = 0.6
_LEAST_LIMIT = 200 * 10**6
_SIZE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?) ?(MB|MiB|GB|GiB)", re.ASCII | re.IGNORECASE)
_UNITS = {"MB": 10**6, "MIB": 2**20, "GB": 10**9, "GIB": 2**30}


def project_root() -> Path:
    """The checkout this package runs from, else the current directory for an installed wheel."""
    root = Path(__file__).resolve().parent.parent
    return root if (root / "dagster.yaml").is_file() else Path.cwd()


@dataclass(frozen=True, slots=True)
class Settings:
    """Where things lie and which drafter to use.

    `home` holds everything the pipeline writes (`FABRIC_HOME` moves it). `anthropic_base_url` is only
    set by tests and gateways. `effort` is passed to the model as it is, "" leaves it to the model.
    `draft_budget_usd` bounds what the drafts of one run may cost together; from `batch_from` drafts on
    they are asked for through the Message Batches API (0: never). `portal_url` is printed on sheets.
    `portal_port` is the port that the portal is served on when nothing else is said. `prometheus_url`
    is the server that the hourly pull asks, `prometheus_match` its label matchers. `shard_store` is the
    URL of the object store through which shards reach workers; "" when they see the folders of `home`.
    A drop of more than `shard_readings` readings is cut into shards of at most so many, or of one node.
    """

    root: Path
    home: Path
    model: str = DEFAULT_MODEL
    anthropic_api_key: str = ""
    anthropic_base_url: str = ""
    draft_timeout_s: float = 120.0
    effort: str = ""
    draft_budget_usd: float = 10.0
    draft_concurrency: int = 4
    batch_from: int = 50
    batch_timeout_s: float = 3600.0
    catalogue_path: Path | None = None
    portal_url: str = ""
    portal_token: str = ""
    portal_port: int = PORTAL_PORT
    prometheus_url: str = ""
    prometheus_token: str = ""
    prometheus_match: str = ""
    shard_store: str = ""
    shard_readings: int = SHARD_READINGS
    engine: str = ""
    dask_address: str = ""
    dask_workers: int = 0
    dask_wait_s: float = DASK_WAIT_S

    @property
    def portal_address(self) -> str:
        """Where links from the Dagster UI back to the portal lead: its public name, else this machine."""
        return self.portal_url or f"http://127.0.0.1:{self.portal_port}"

    @property
    def is_default_home(self) -> bool:
        """True when nothing was moved by `FABRIC_HOME`."""
        return self.home == default_home(self.root)

    @property
    def lake(self) -> Path:
        """Parquet tables, `<table>/drop=<id>/part.parquet`."""
        return self.home / "lake"

    @property
    def ledger(self) -> Path:
        """SQLite file with drops, drafts, reviews and publications."""
        return self.home / "ledger.sqlite"

    @property
    def outbox(self) -> Path:
        """Mock of outside ticket systems: files only."""
        return self.home / "outbox"

    @property
    def dossiers(self) -> Path:
        """Evidence dossiers, one folder per incident."""
        return self.home / "dossiers"

    @property
    def catalogue(self) -> Path:
        """Folder of the parts catalogue; `FABRIC_CATALOGUE` names that of the site."""
        return self.catalogue_path or self.root / "data" / "catalogue"

    @property
    def audit(self) -> Path:
        """The DuckDB file for auditors."""
        return self.home / "audit.duckdb"

    @property
    def shards(self) -> Path:
        """Results of shards, kept by what they follow from; may be deleted, they are computed again."""
        return self.home / "shards"

    @property
    def pulled(self) -> Path:
        """Drops fetched from a monitoring server; the drop sensor watches it as it does the inbox."""
        return self.home / "pulled"

    @property
    def unpacked(self) -> Path:
        """What came out of archives, by their SHA-256; may be deleted, it is unpacked again when needed."""
        return self.home / "unpacked"

    @property
    def staged(self) -> Path:
        """What was read of large files, by all that it follows from; may be deleted, it is read again."""
        return self.home / "staged"

    @property
    def inbox(self) -> Path:
        """Folder that the drop sensor watches; shipped drops lie here."""
        return self.root / "data" / "drops"

    def __repr__(self) -> str:
        """Never prints the key or the token."""
        key = "set" if self.anthropic_api_key else "not set"
        return f"Settings(root={self.root}, home={self.home}, model={self.model}, key {key})"


def default_home(root: Path) -> Path:
    """`data/warehouse` of the checkout."""
    return (root / "data" / "warehouse").absolute()


def load_settings(environ: dict[str, str] | None = None) -> Settings:
    """Settings from the environment, with defaults that work in a plain clone."""
    env = dict(os.environ) if environ is None else environ
    root = project_root()
    home = Path(env["FABRIC_HOME"]) if env.get("FABRIC_HOME") else default_home(root)
    return Settings(
        root=root,
        home=home.absolute(),
        model=env.get("FABRIC_MODEL") or DEFAULT_MODEL,
        anthropic_api_key=env.get("ANTHROPIC_API_KEY", ""),
        anthropic_base_url=env.get("ANTHROPIC_BASE_URL", ""),
        draft_timeout_s=_number(env, "FABRIC_DRAFT_TIMEOUT_S", 120.0, "seconds"),
        effort=env.get("FABRIC_EFFORT", ""),
        draft_budget_usd=_number(env, "FABRIC_DRAFT_BUDGET_USD", 10.0, "US dollars"),
        draft_concurrency=_count(env, "FABRIC_DRAFT_CONCURRENCY", 4, least=1),
        batch_from=_count(env, "FABRIC_BATCH_FROM", 50, least=0),
        batch_timeout_s=_number(env, "FABRIC_BATCH_TIMEOUT_S", 3600.0, "seconds"),
        catalogue_path=Path(env["FABRIC_CATALOGUE"]).absolute()
        if env.get("FABRIC_CATALOGUE")
        else None,
        portal_url=env.get("FABRIC_PORTAL_URL", "").rstrip("/"),
        portal_token=env.get("FABRIC_PORTAL_TOKEN", ""),
        prometheus_url=env.get("FABRIC_PROMETHEUS_URL", ""),
        prometheus_token=env.get("FABRIC_PROMETHEUS_TOKEN", ""),
        prometheus_match=env.get("FABRIC_PROMETHEUS_MATCH", ""),
        shard_store=env.get("FABRIC_SHARD_STORE", "").strip(),
        shard_readings=_count(env, "FABRIC_SHARD_READINGS", SHARD_READINGS, least=1),
        portal_port=_count(env, "FABRIC_PORTAL_PORT", PORTAL_PORT, least=1),
        # `ENGINE=dask make run` is what the name without prefix is for.
        engine=(env.get("FABRIC_ENGINE") or env.get("ENGINE", "")).strip().lower(),
        dask_address=env.get("FABRIC_DASK_ADDRESS", "").strip(),
        dask_workers=_count(env, "FABRIC_DASK_WORKERS", 0, least=0),
        dask_wait_s=_number(env, "FABRIC_DASK_WAIT_S", DASK_WAIT_S, "seconds"),
    )


def memory_limit_bytes(machine: int, environ: Mapping[str, str] | None = None) -> int:
    """What one engine may hold in memory before it lays rows aside on disk, in bytes.

    `FABRIC_MEMORY_LIMIT` (such as 1500MB or 8GB) sets it, up to 60 % of the `machine` bytes that there
    are: the rest is for Python and for whatever else runs there.
    """
    env = os.environ if environ is None else environ
    text = (env.get("FABRIC_MEMORY_LIMIT") or DEFAULT_MEMORY_LIMIT).strip()
    parsed = _SIZE.fullmatch(text)
    wanted = float(parsed[1]) * _UNITS[parsed[2].upper()] if parsed else 0.0
    if wanted < _LEAST_LIMIT:
        raise UsageError(
            f"FABRIC_MEMORY_LIMIT is {text!r}, not a size of at least 200 MB",
            f"unset it or give one such as {DEFAULT_MEMORY_LIMIT} or 8GB",
        )
    return int(min(wanted, _MOST_OF_MACHINE * machine))


def engine_environment(engine: str, address: str = "", workers: int = 0) -> dict[str, str]:
    """The variables that make a process use this engine; "" and 0 stand for "not said"."""
    return {
        "FABRIC_ENGINE": engine,
        "FABRIC_DASK_ADDRESS": address,
        "FABRIC_DASK_WORKERS": str(workers) if workers else "",
    }


def engine_threads(environ: Mapping[str, str] | None = None) -> int:
    """Threads that one DuckDB engine may use (`FABRIC_THREADS`), 0 for one on every core."""
    return _count(os.environ if environ is None else environ, "FABRIC_THREADS", 0, least=0)


def worker_environment(
    threads: int, memory_bytes: int, environ: Mapping[str, str] | None = None
) -> dict[str, str]:
    """What the process of a worker sets, so that its DuckDB keeps to its part of the machine.

    It runs `threads` shards at once and may hold `memory_bytes` (0: nobody said). What the operator set
    for the process stays where it asks for less.
    """
    env = os.environ if environ is None else environ
    wanted = {"FABRIC_THREADS": env.get("FABRIC_THREADS") or str(threads)}
    if memory_bytes:
        limit = max(_LEAST_LIMIT, memory_limit_bytes(memory_bytes, env))
        wanted["FABRIC_MEMORY_LIMIT"] = f"{limit // 10**6}MB"
    return wanted


def _number(env: Mapping[str, str], name: str, default: float, unit: str) -> float:
    text = env.get(name) or str(default)
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise UsageError(
            f"{name} is {text!r}, not a number of {unit}",
            f"unset it or give one such as {default:g}",
        )
    return value


def _count(env: Mapping[str, str], name: str, default: int, *, least: int) -> int:
    text = env.get(name) or str(default)
    if not (text.isascii() and text.isdigit() and int(text) >= least):
        raise UsageError(
            f"{name} is {text!r}, not a whole number from {least} on",
            f"unset it or give one such as {default}",
        )
    return int(text)
