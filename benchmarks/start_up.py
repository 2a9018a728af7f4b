"""What a command costs before its work begins: CPU and wall seconds and modules, as one table.

Commands run in processes of their own over a home that is made for it, with bytecode that is compiled
already. CPU seconds hold the children (a run starts one) and are the figure to compare, because the wall
shows who else uses the machine. `--against` runs another checkout in turn with this one and shows ratios.
"""

from __future__ import annotations

import argparse
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parent.parent
TRIES = 5
PATIENCE_S = 120
CAPTURE = """GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-11111111-2222-3333-4444-555555555555)
\t Link 0: 26.562 GB/s
\t Link 1: 26.562 GB/s
\t Link 2: <inactive>
"""
# Counts modules when the command ends, however it ends.
_COUNTED = """import atexit, sys
atexit.register(lambda: print("modules", len(sys.modules), file=sys.stderr))
sys.argv = ["fabric-pipeline", *sys.argv[1:]]
from fabric_pipeline.cli.main import main
main()
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """One start: seconds of processors, this process and its children, and seconds that passed."""

    cpu_s: float
    wall_s: float


@dataclass(frozen=True, slots=True)
class Place:
    """A checkout with a home of its own; `capture` and `drop` are what commands are given."""

    root: Path
    home: Path
    capture: Path
    drop: Path

    @property
    def env(self) -> Mapping[str, str]:
        """The environment of a command: this checkout, this home, bytecode outside the checkout."""
        own = {"FABRIC_HOME": str(self.home), "PYTHONPATH": str(self.root)}
        own["PYTHONPYCACHEPREFIX"] = str(self.home.with_suffix(".bytecode"))
        kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        return {**kept, **own}


def commands(place: Place) -> dict[str, list[str]]:
    """What is measured: name -> arguments of `fabric-pipeline`. The order matters, runs come first."""
    return {
        "run, drop read again": ["run", "--force", str(place.drop)],
        "run, nothing new": ["run", str(place.drop)],
        "--help": ["--help"],
        "inspect, one capture": ["inspect", str(place.capture)],
        "incidents": ["incidents"],
        "tickets": ["tickets"],
        "topology": ["topology"],
        "doctor": ["doctor"],
        "audit query": ["audit", "query", "select 1"],
    }


def measured(place: Place, arguments: list[str]) -> Cost:
    """Run one command to its end."""
    command = [sys.executable, "-m", "fabric_pipeline", *arguments]
    before, started = _cpu_of_children_s(), time.monotonic()
    done = subprocess.run(  # noqa: S603 - our own module
        command, cwd=place.root, env=place.env, capture_output=True, timeout=PATIENCE_S * 5
    )
    wall_s = time.monotonic() - started
    if done.returncode:
        said = done.stderr.decode(errors="replace")[-500:]
        raise SystemExit(f"{' '.join(arguments)} ended with {done.returncode}: {said}")
    return Cost(_cpu_of_children_s() - before, wall_s)


def first_answer(place: Place, page: str) -> Cost:
    """Start the portal, ask until it answers this page, stop it; the wall ends with the answer."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "fabric_pipeline", "portal", "--port", str(port)]
    before, started = _cpu_of_children_s(), time.monotonic()
    with subprocess.Popen(  # noqa: S603 - our own module
        command, cwd=place.root, env=place.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as portal:
        try:
            _ask(f"http://127.0.0.1:{port}{page}")
            wall_s = time.monotonic() - started
        finally:
            portal.terminate()
    return Cost(_cpu_of_children_s() - before, wall_s)


def _cpu_of_children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _ask(address: str) -> None:
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            with urlopen(address, timeout=PATIENCE_S) as answer:  # noqa: S310 - loopback, http
                answer.read()
                return
        except URLError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)


def modules(place: Place, arguments: list[str]) -> int:
    """How many modules the command itself has imported when it ends."""
    command = [sys.executable, "-c", _COUNTED, *arguments]
    done = subprocess.run(  # noqa: S603 - our own module
        command, cwd=place.root, env=place.env, capture_output=True, text=True, timeout=600
    )
    said = [line for line in done.stderr.splitlines() if line.startswith("modules ")]
    return int(said[-1].split()[1])


def prepared(root: Path, home: Path, drop: Path) -> Place:
    """A home that has read the drop once."""
    place = Place(root, home, drop / "nvlink.txt", drop)
    measured(place, ["run", str(drop)])
    return place


def table(places: list[Place], tries: int) -> Iterator[str]:
    """Rows of a Markdown table; with two places the columns of the other one and the ratio follow."""
    heads = ["command", "CPU s", "least", "wall s", "modules"]
    heads += ["CPU s, other", "least", "wall s", "modules", "CPU ratio"] if len(places) > 1 else []
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for name, arguments in commands(places[0]).items():
        costs = _in_turn(places, tries, partial(measured, arguments=arguments))
        yield _row(name, costs, [str(modules(place, arguments)) for place in places])
    for page in ("/healthz", "/"):
        costs = _in_turn(places, tries, partial(first_answer, page=page))
        yield _row(f"portal, first answer of {page}", costs, [""] * len(places))


def _in_turn(places: list[Place], tries: int, measure: Callable[[Place], Cost]) -> list[list[Cost]]:
    costs: list[list[Cost]] = [[] for _ in places]
    for attempt in range(tries + 1):
        for place, found in zip(places, costs, strict=True):
            cost = measure(place)
            if attempt:  # the first one compiles bytecode and warms the cache of the disk
                found.append(cost)
    return costs


def _row(name: str, costs: list[list[Cost]], counts: list[str]) -> str:
    cells = [name]
    usual = []
    for found, count in zip(costs, counts, strict=True):
        cpu = [cost.cpu_s for cost in found]
        usual.append(statistics.median(cpu))
        wall = statistics.median(cost.wall_s for cost in found)
        cells += [f"{usual[-1]:.2f}", f"{min(cpu):.2f}", f"{wall:.2f}", count]
    cells += [f"{usual[0] / usual[1]:.2f}"] if len(usual) > 1 else []
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table row by row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=TRIES)
    parser.add_argument("--against", type=Path, help="another checkout, measured in turn")
    given = parser.parse_args()
    roots = [ROOT, *([given.against.resolve()] if given.against else [])]
    with tempfile.TemporaryDirectory(prefix="fabric-start-up-") as folder:
        drop = Path(folder) / "small"
        drop.mkdir()
        (drop / "nvlink.txt").write_text(CAPTURE, encoding="utf-8")
        places = [
            prepared(root, Path(folder) / f"home-{number}", drop)
            for number, root in enumerate(roots)
        ]
        for row in table(places, given.tries):
            print(row, flush=True)  # noqa: T201 - this is the report


if __name__ == "__main__":
    main()
