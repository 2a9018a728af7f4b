"""Command `synth`: make a synthetic drop with planted faults, the answer key beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fabric_pipeline.cli.output import put, put_json, put_table
from fabric_pipeline.cli.progress_line import progress_line

_FLEET = "fleet:"


def synth(
    scenario: Annotated[str, typer.Argument(help="Scenario name; `list` lists them.")],
    out: Annotated[
        Path | None, typer.Argument(help="Folder to write; must not exist or be a drop of ours.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Same seed, same bytes.")] = 1,
    answer_key: Annotated[
        Path | None,
        typer.Option("--answer-key", help="Where the truth goes; never inside the drop."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Write a synthetic drop: a scenario of an 8-node cluster, or a random fleet (`fleet:SUITE`, one per seed)."""
    from fabric_pipeline.errors import UsageError
    from fabric_pipeline.synth.fleet import SUITE_SAYS
    from fabric_pipeline.synth.scenario import SCENARIOS

    if scenario == "list":
        listed = [(name, make().says) for name, make in SCENARIOS.items()]
        listed += [(f"{_FLEET}{name}", says) for name, says in SUITE_SAYS.items()]
        if json:
            put_json([{"scenario": name, "says": says} for name, says in listed])
        else:
            put_table(("scenario", "what happens in it"), listed, widest=100)
        return
    if scenario not in SCENARIOS and scenario.removeprefix(_FLEET) not in SUITE_SAYS:
        raise UsageError(
            f"there is no scenario {scenario!r}", f"choose one of {', '.join(SCENARIOS)}"
        )
    if out is None:
        raise UsageError("no folder was named", "fabric-pipeline synth SCENARIO FOLDER")
    with progress_line() as line:
        line(f"making {scenario}")
        _write(scenario, out, seed, answer_key)
    if json:
        put_json({"drop": str(out), "scenario": scenario, "seed": seed})
    else:
        put(str(out))


def _write(scenario: str, out: Path, seed: int, answer_key: Path | None) -> None:
    from fabric_pipeline.synth.fleet import generate_fleet, suite, write_fleet_drop
    from fabric_pipeline.synth.generate import generate
    from fabric_pipeline.synth.scenario import SCENARIOS
    from fabric_pipeline.synth.writer import default_answer_key

    if scenario.startswith(_FLEET):
        key = answer_key or default_answer_key(out)
        chosen = suite(scenario.removeprefix(_FLEET), "judge")(seed)
        write_fleet_drop(generate_fleet(chosen, seed), out, key)
    else:
        generate(SCENARIOS[scenario](), out, seed=seed, answer_key=answer_key)
