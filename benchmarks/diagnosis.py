"""Measures the diagnosis against other methods on generated fleets and writes `docs/benchmark.md`.

Judged on seeds and laws that no development looked at; `--release-tag` draws the seeds from a tag, so
that nobody can have looked. Run: python -m benchmarks.diagnosis [--suites base,hard] [--scenarios 200]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from benchmarks import detect_time
from benchmarks.baselines import METHODS, best_parameter
from benchmarks.calibrate import TRAINING_SEEDS
from benchmarks.detect_time import Naming
from benchmarks.fleet_window import observe
from benchmarks.judging import OURS, Job, judge
from benchmarks.report import render, summary
from benchmarks.results import Benchmark
from fabric_pipeline.diagnose.localise.scorecard import shipped_card
from fabric_pipeline.errors import UsageError
from fabric_pipeline.synth.fleet import generate_fleet, suite

JUDGE_SEEDS = 250_000_000
SEEDS_OF_A_SUITE = 10_000
TUNING_SEEDS = TRAINING_SEEDS + 500_000
TUNING_SUITES, TUNING_EACH = ("base", "hard"), 60
# The largest come last, so that their memory does not show in the figures of the others.
SUITES = (
    "base", "hard", "one_job", "gpu_totals", "dirty", "a100", "nvl72", "fast_sampling", "slow_sampling",
    "flaps_days", "drift", "miswired", "wrong_baseline", "idle_errors", "quiet", "nodes_1000", "quiet_1000",
)  # fmt: skip
LARGE = {"nodes_1000": 0.3, "quiet_1000": 0.2}  # share of the scenarios that they get
ROOT = Path(__file__).parent.parent

In = TypeVar("In")
Out = TypeVar("Out")


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure: scenarios by suite, the names of the methods, where the seeds begin."""

    scenarios: dict[str, int]
    methods: tuple[str, ...]
    first_seed: int
    processes: int
    detect_scenarios: int = 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Tune, judge, write."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    given = _parser().parse_args(words)
    try:
        plan = plan_of(given)
    except UsageError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    benchmark = measure(plan)
    benchmark.command = " ".join(["python -m benchmarks.diagnosis", *_without_places(words)])
    benchmark.date = f"{datetime.now(UTC):%Y-%m-%d}"
    given.out.write_text(render(benchmark), encoding="utf-8")
    if given.json:
        given.json.write_text(json.dumps(_as_json(benchmark), indent=1) + "\n", encoding="utf-8")
    _say(f"{given.out} is written")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suites", default=",".join(SUITES), help="with commas between")
    parser.add_argument(
        "--scenarios", type=int, default=200, help="of each suite, fewer of large ones"
    )
    parser.add_argument("--quiet", type=int, default=300, help="scenarios of the suite quiet")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--methods", default=f"{OURS},all", help="ours, all, or names of baselines")
    parser.add_argument("--detect-time", action="store_true", help="measure the time to a naming")
    parser.add_argument("--release-tag", help="draw the seeds from this text")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "benchmark.md")
    parser.add_argument("--json", type=Path, help="write figures and single outcomes here")
    return parser


def _without_places(words: Sequence[str]) -> list[str]:
    """The arguments but for where results go, which says something of one machine alone."""
    kept, skipped = [], False
    for word in words:
        if skipped:
            skipped = False
        elif word in ("--json", "--out"):
            skipped = True
        elif not word.startswith(("--json=", "--out=")):
            kept.append(word)
    return kept


def plan_of(given: argparse.Namespace) -> Plan:
    """Check what was asked for; raises UsageError."""
    names = given.suites.split(",")
    unknown = [name for name in names if name not in SUITES]
    if unknown:
        raise UsageError(f"there is no suite {unknown[0]!r}", f"take some of {list(SUITES)}")
    counts = {name: max(1, round(given.scenarios * LARGE.get(name, 1.0))) for name in names}
    if "quiet" in counts:
        counts["quiet"] = given.quiet
    detect = min(detect_time.SCENARIOS, given.scenarios) if given.detect_time else 0
    first_seed = JUDGE_SEEDS if given.release_tag is None else tag_seed(given.release_tag)
    return Plan(counts, chosen_methods(given.methods), first_seed, given.processes, detect)


def chosen_methods(text: str) -> tuple[str, ...]:
    """Names of methods in their order; blanks and capitals do not matter."""
    known = {_plain(name): name for name in (OURS, *(method.name for method in METHODS))}
    wanted = [_plain(word) for word in text.split(",")]
    unknown = [word for word in wanted if word not in (*known, "all")]
    if unknown:
        raise UsageError(f"there is no method {unknown[0]!r}", f"take all or {list(known)}")
    every = "all" in wanted
    return tuple(name for word, name in known.items() if word in wanted or (every and name != OURS))


def _plain(name: str) -> str:
    return name.replace(" ", "").lower()


def seed_of(first_seed: int, suite_name: str, index: int) -> int:
    """Every suite has scenarios of its own, so that their figures are independent."""
    return first_seed + SEEDS_OF_A_SUITE * SUITES.index(suite_name) + index


def tag_seed(tag: str) -> int:
    """The first seed of a release, far from all others."""
    return 1_000_000_000 + int.from_bytes(hashlib.sha256(tag.encode()).digest()[:5], "big") * 10_000


def measure(plan: Plan) -> Benchmark:
    """Everything that the plan asks for."""
    # Read first: files may change during a long run, what is loaded does not.
    result = Benchmark(plan.methods, plan.first_seed, shipped_card().version, revision())
    baselines = tuple(name for name in plan.methods if name != OURS)
    parameters = result.parameters = tuned(plan, baselines) if baselines else {}
    for name, number in plan.scenarios.items():
        jobs = [
            Job(
                name, index, seed_of(plan.first_seed, name, index), parameters, OURS in plan.methods
            )
            for index in range(number)
        ]
        result.judged[name] = list(_run(judge, jobs, plan.processes, name))
    if plan.detect_scenarios:
        result.namings = detected(plan, parameters)
    return result


def tuned(plan: Plan, names: Iterable[str]) -> dict[str, float]:
    """The best parameter of every baseline on training scenarios."""
    _say("tuning the baselines")
    return next(iter(_run(_tune, [tuple(names)], plan.processes, "tuning")))


def _tune(names: tuple[str, ...]) -> dict[str, float]:
    jobs = [(name, index) for name in TUNING_SUITES for index in range(TUNING_EACH)]
    scenarios = [
        observe(generate_fleet(suite(name, "train")(index), TUNING_SEEDS + number))
        for number, (name, index) in enumerate(jobs)
    ]
    chosen = [method for method in METHODS if method.name in names]
    return {method.name: best_parameter(method, scenarios) for method in chosen}


def detected(plan: Plan, parameters: dict[str, float]) -> list[Naming]:
    """Times to lasting naming."""
    jobs = detect_time.jobs(
        lambda index: seed_of(plan.first_seed, "base", index),
        parameters,
        plan.detect_scenarios,
    )
    results = _run(detect_time.watch, jobs, plan.processes, "time to naming")
    return [naming for found in results for naming in found]


@contextmanager
def _mapper(processes: int) -> Iterator[Callable[..., Iterable[Any]]]:
    """`map`, in new processes when there are to be several."""
    if processes < 2:
        yield map
        return
    with ProcessPoolExecutor(processes) as pool:
        yield pool.map


def _run(
    work: Callable[[In], Out], jobs: Sequence[In], processes: int, title: str
) -> Iterator[Out]:
    """Results in the order of the jobs; tells now and then how far it is."""
    with _mapper(processes) as mapped:
        for number, result in enumerate(mapped(work, jobs), 1):
            if number % 20 == 0 or number == len(jobs):
                _say(f"{title}: {number} of {len(jobs)}")
            yield result


def revision() -> str:
    """Commit that was measured, marked when files differ from it."""
    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        found = subprocess.run(git, capture_output=True, text=True, check=True)  # noqa: S603
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.stdout.strip()


def _as_json(benchmark: Benchmark) -> dict[str, Any]:
    scenarios = [asdict(one) for every in benchmark.judged.values() for one in every]
    for one in scenarios:
        for outcome in one["outcomes"].values():
            outcome["guilty"] = sorted(outcome["guilty"])
            outcome["untraceable"] = sorted(outcome["untraceable"])
    namings = [asdict(one) for one in benchmark.namings]
    return {**summary(benchmark), "scenarios": scenarios, "namings": namings}


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
