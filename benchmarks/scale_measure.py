"""Measures what the simulation of a large farm is fed with, and writes it to `scale_measured.json`.

    python -m benchmarks.scale_measure [shards|engine|transfer|real ...]

Shards are worked on with one DuckDB thread, as on a worker with one core, in a process that has done a
small shard before; processor seconds count. What is made of the figures is said in `scale_simulation`.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.fleet_drop import Fleet, fleet_of, generate, settings_of
from benchmarks.fleet_speed import Cost
from benchmarks.scale_work import COUNTING, ON_DRIVER, first_task, items_of, nothing, run, timed
from fabric_pipeline.engine.dask_engine import DaskEngine
from fabric_pipeline.store.shard_files import Place, collect, deliver, fetched, send

MEASURED = Path(__file__).with_name("scale_measured.json")
# Readings, seconds between them, share of noisy ends, hours: shards of one size that differ, then of many
# sizes; the last two hold many series of few readings, as whole fleets have many.
ALIKE = tuple((0.54e6, 60, noisy, 1.0) for noisy in (0, 0.005, 0.01, 0.02, 0.02, 0.05, 0.1, 0.2))
SIZES = (
    (0.25e6, 15, 0.02, 1.0), (0.54e6, 15, 0.02, 1.0), (1.08e6, 15, 0.02, 1.0), (2.16e6, 15, 0.02, 1.0), (3.8e6, 15, 0.02, 1.0),
    (2.16e6, 60, 0.02, 1.0), (1.08e6, 60, 0.02, 0.2), (2.16e6, 60, 0.02, 0.2),
)  # fmt: skip
TASKS = (1000, 5000)
_TRANSFER_MB = 128
_REAL_SHARDS, _REAL_READINGS = 12, 0.5e6
_MB = 1e6


def shards() -> list[dict[str, Any]]:
    """Costs of shards in workers, and of what is left for the driver, by size and noise."""
    found = []
    for readings, interval_s, noisy, hours in (*ALIKE, *SIZES):
        fleet = fleet_of(int(readings), interval_s=interval_s, noisy=noisy, hours=hours)
        with tempfile.TemporaryDirectory(prefix="scale-") as folder:
            home = Path(folder, "home")
            source = generate(fleet, home)
            generate(Fleet(gpus=8, links=2), Path(folder, "small"))
            inside = _costs((COUNTING,), Path(folder))[COUNTING]
            after = _costs(ON_DRIVER, Path(folder))
            results = (settings_of(home).shards / "results").rglob("*.parquet")
            found.append({
                "readings": fleet.readings, "series": fleet.series, "interval_s": interval_s, "noisy": noisy,
                "cpu_s": inside.cpu_s, "peak_mb": inside.rss_mb,
                "driver_cpu_s": {name: one.cpu_s for name, one in after.items()},
                "driver_peak_mb": max(one.rss_mb for one in after.values()),
                "in_mb": source.stat().st_size / _MB, "out_mb": sum({path.name: path.stat().st_size for path in results}.values()) / _MB,
                "spikes": after["spikes"].rows, "incidents": after["incidents"].rows,
            })  # fmt: skip
        _say("shard", found[-1])
    return found


def _costs(steps: tuple[str, ...], folder: Path) -> dict[str, Cost]:
    """Steps one after the other in one process of one thread that knows them already."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.scale_measure",
        "--steps",
        *steps,
        "--in",
        str(folder),
    ]
    env = os.environ | {"FABRIC_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise SystemExit(done.stderr)
    return {name: Cost(**one) for name, one in json.loads(done.stdout.splitlines()[-1]).items()}


def _steps_here(steps: list[str], folder: Path) -> None:
    for step in steps:
        run(step, folder / "small")
    costs = {step: dataclasses.asdict(run(step, folder / "home")) for step in steps}
    sys.stdout.write(json.dumps(costs) + "\n")


def engine() -> list[dict[str, Any]]:
    """Tasks without work on a local cluster; client and scheduler are in this process."""
    found = []
    for workers in (1, 2):
        with DaskEngine(workers=workers) as farm:
            begun_s = time.perf_counter()
            farm.map(nothing, range(1))
            started_s = time.perf_counter()
            farm.map(first_task, range(4 * workers))
            ready_s = time.perf_counter()
            for tasks in TASKS:
                wall_s, cpu_s = time.perf_counter(), time.process_time()
                farm.map(nothing, range(tasks))
                found.append({
                    "workers": workers, "tasks": tasks, "wall_s": time.perf_counter() - wall_s,
                    "driver_cpu_s": time.process_time() - cpu_s, "cluster_start_s": started_s - begun_s, "first_tasks_s": ready_s - started_s,
                })  # fmt: skip
                _say("engine", found[-1])
    return found


def transfer() -> list[dict[str, Any]]:
    """Seconds and processor seconds per step for one file of 128 MB; the server of the S3 store is a process apart."""
    found = []
    with tempfile.TemporaryDirectory(prefix="scale-") as folder, bucket() as env:
        os.environ.update(env)
        root = Path(folder)
        (root / "mounted").mkdir()
        path = root / "file.parquet"
        path.write_bytes(os.urandom(_TRANSFER_MB * 10**6))
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        places = {
            "s3 on loopback": Place("s3://shards/x"),
            "file://": Place(f"file://{root / 'mounted'}"),
            "shared folder": Place("", str(root / "kept")),
        }
        for name, place in places.items():
            found.append({"store": name, "mb": _TRANSFER_MB, **_moved(place, path, sha256, root)})
            _say("transfer", found[-1])
    return found


def _moved(place: Place, path: Path, sha256: str, root: Path) -> dict[str, float]:
    took: dict[str, float] = {}

    @contextmanager
    def timed(step: str) -> Iterator[None]:
        wall_s, cpu_s = time.perf_counter(), time.process_time()
        yield
        took[f"{step}_s"] = time.perf_counter() - wall_s
        took[f"{step}_cpu_s"] = time.process_time() - cpu_s

    with timed("send"):
        addresses = send(place, [path], [sha256])
    with timed("fetch"), fetched(place, addresses, [sha256]):
        pass
    with timed("deliver"):
        manifest = deliver(place, sha256, {"table": path}, {})
    with timed("collect"):
        collect(place, manifest, "table", root / "collected.parquet")
    return took


@contextmanager
def bucket() -> Iterator[Mapping[str, str]]:
    """An S3 store on loopback in a process of its own, with one bucket, and the variables that lead to it."""
    code = (
        "import time; from moto.server import ThreadedMotoServer as Server; "
        "server = Server(ip_address='127.0.0.1', port=0, verbose=False); server.start(); "
        "print(server.get_host_and_port()[1], flush=True); time.sleep(3600)"
    )
    command = [sys.executable, "-W", "ignore", "-c", code]
    with subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            assert server.stdout is not None  # noqa: S101 - a pipe was asked for
            url = f"http://127.0.0.1:{int(server.stdout.readline())}"
            urllib.request.urlopen(urllib.request.Request(f"{url}/shards", method="PUT")).close()  # noqa: S310
            yield {
                "AWS_ENDPOINT_URL": url, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "testing",
                "AWS_SECRET_ACCESS_KEY": "testing",
            }  # fmt: skip
        finally:
            server.terminate()


def real() -> list[dict[str, Any]]:
    """Runs of real shards on one and two workers over a folder that files are sent to, in turn, twice."""
    found = []
    with tempfile.TemporaryDirectory(prefix="scale-") as folder:
        homes = [Path(folder, f"drop-{number}") for number in range(_REAL_SHARDS)]
        for number, home in enumerate(homes):
            size = int(_REAL_READINGS * (0.5 + number % 4 / 4))
            generate(fleet_of(size, noisy=(0.01, 0.05, 0.1)[number % 3]), home)
        for turn, workers in enumerate((1, 2, 1, 2)):
            kept = Path(folder, f"kept-{turn}")
            kept.mkdir()
            found.append(_real_run(Place(f"file://{kept}"), homes, workers, turn))
            _say("real", found[-1])
    return found


def _real_run(place: Place, homes: list[Path], workers: int, turn: int) -> dict[str, Any]:
    with DaskEngine(workers=workers) as farm, tempfile.TemporaryDirectory() as folder:
        farm.map(first_task, range(4 * workers))
        begun_s = time.perf_counter()
        items = items_of(place, homes, turn)
        sent_s = time.perf_counter()
        answers = farm.map(timed, items)
        farmed_s = time.perf_counter()
        done = [one.result for one in answers if one.result is not None]
        manifests = [one.counted.manifest for one in done if one.counted.manifest]
        if len(manifests) < len(homes):
            raise SystemExit([one.problem for one in answers if one.is_failed])
        for number, manifest in enumerate(manifests):
            for name in manifest.files:
                collect(place, manifest, name, Path(folder, f"{number}-{name}.parquet"))
    return {
        "workers": workers, "send_s": sent_s - begun_s, "farm_s": farmed_s - sent_s, "collect_s": time.perf_counter() - farmed_s,
        "shards": [{"wall_s": one.wall_s, "cpu_s": one.cpu_s} for one in done],
        "sha256": hashlib.sha256(repr([dict(one.files) for one in manifests]).encode()).hexdigest(),
    }  # fmt: skip


def _say(what: str, figures: Mapping[str, Any]) -> None:
    sys.stderr.write(f"{what}: {json.dumps(_rounded(dict(figures)))}\n")


def _rounded(value: Any) -> Any:
    """Four figures of every measured number: more are not in it."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list) else value


def _written(kept: Mapping[str, list[Any]]) -> str:
    """One line for every record, so that a new measurement can be read as a difference."""
    parts = []
    for name, records in kept.items():
        lines = ",\n".join(f"  {json.dumps(one)}" for one in records)
        parts.append(f' "{name}": [\n{lines}\n ]')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main() -> None:
    """Measure the parts asked for, all by default; figures of other parts stay as they are."""
    parts = {"shards": shards, "engine": engine, "transfer": transfer, "real": real}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(parts))
    parser.add_argument("--steps", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--in", dest="folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.steps:
        _steps_here(given.steps, given.folder)
        return
    logging.disable(logging.WARNING)
    kept = json.loads(MEASURED.read_text(encoding="utf-8")) if MEASURED.is_file() else {}
    for name in given.parts or parts:
        kept[name] = _rounded(parts[name]())
        MEASURED.write_text(_written(kept), encoding="utf-8")


if __name__ == "__main__":
    main()
