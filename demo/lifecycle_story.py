"""Two faults over five drops, told by the commands a user types and what they print.

`python -m demo.lifecycle_story OUT.md` makes the drops in a temporary folder, runs the real commands
on them and writes a page. The page depends on nothing but the code: all times are fixed.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from fabric_pipeline.incidents.ticket import RepairOrderStep
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.synth import generate
from fabric_pipeline.synth.life_series import LIFE_SERIES, NEW_BOARD
from fabric_pipeline.workflows.lifecycle import life_of

ROOT = Path(__file__).resolve().parent.parent
SEED = 1
PROGRAM = "fabric-pipeline"
LINK, CABLE, MOVED = (
    "gpu-r21-n02:gpu5/nvlink-11",
    "gpu-r21-n03:mlx5_5/1",
    "gpu-r21-n04:gpu2/nvlink-6",
)
# Variables that would let the page depend on who runs it.
_NOT_PASSED_ON = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "FABRIC_CATALOGUE",
    "FABRIC_PORTAL_URL",
)
_MOST_LINES = 60
# Moments at which this program ran; everything that a page shows of the story itself is fixed.
_CLOCK = re.compile(
    r"\b20(?:2[6-9]|[3-9]\d)-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|\+00:00| UTC)?"
)


class StoryError(RuntimeError):
    """A command of the story did not do what the page says."""


@dataclass
class Teller:
    """Runs commands in one warehouse and collects the page."""

    folder: Path
    lines: list[str] = field(default_factory=list)

    @property
    def ledger(self) -> Ledger:
        """The ledger of the story's warehouse."""
        return Ledger(Settings(root=ROOT, home=self.folder / "warehouse").ledger)

    def tell(self, text: str) -> None:
        """A paragraph."""
        self.lines += [text, ""]

    def drop(self, name: str) -> None:
        """Make the drop of a day and run it."""
        path = self.folder / "drops" / name
        generate(LIFE_SERIES[name](), path, seed=SEED, answer_key=self.folder / f"{name}.json")
        self.run("run", f"drops/{name}", keep=_until_audit)

    def run(
        self, *words: str, keep: Callable[[list[str]], list[str]] = list, expect: int = 0
    ) -> None:
        """One command as typed, and what it prints on its standard output."""
        env = {k: v for k, v in os.environ.items() if k not in _NOT_PASSED_ON}
        env |= {"FABRIC_HOME": str(self.folder / "warehouse"), "PYTHONPATH": str(ROOT)}
        done = subprocess.run(  # noqa: S603 - our own program with fixed words
            [sys.executable, "-m", "fabric_pipeline", *words],
            cwd=self.folder, env=env, capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        if done.returncode != expect:
            raise StoryError(f"{words} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        heads = ("note: ", "error: ", "  what to do: ")
        notes = [line for line in done.stderr.splitlines() if line.startswith(heads)]
        shown = [self._fixed(line) for line in [*notes, *keep(done.stdout.rstrip().splitlines())]]
        if len(shown) > _MOST_LINES:
            shown = [*shown[:_MOST_LINES], f"… {len(shown) - _MOST_LINES} more lines"]
        self.lines += ["```console", f"$ {PROGRAM} {shlex.join(words)}", *shown, "```", ""]

    def ticket(self, component: str) -> str:
        """Ticket of the incident at this component."""
        found = [
            seen.record
            for seen in self.ledger.incidents()
            if seen.record.needs_ticket and seen.record.isolated_component.startswith(component)
        ]
        if not found:
            raise StoryError(f"no incident names {component}")
        return found[-1].incident_id.replace("INC-", "T-")

    def incident(self, component: str) -> str:
        """Its incident."""
        return self.ticket(component).replace("T-", "INC-")

    def step(self, ticket: str, *words: str) -> RepairOrderStep:
        """The first step of the ticket's repair order whose action has one of these words."""
        draft = self.ledger.current_draft(ticket).draft
        for step in draft.repair_order if draft is not None else []:
            if any(word in step.action for word in words):
                return step
        raise StoryError(f"the repair order of {ticket} has none of {words}")

    def serial(self, component: str) -> str:
        """Serial of the GPU at this component when it was last accused."""
        place = self.ledger.incident_history(self.incident(component))[-1].record.place
        return place.gpu_serial

    def state(self, component: str, expected: str) -> None:
        """Show how the incident stands; the page must not say something that did not happen."""
        self.run("tickets", self.ticket(component), keep=_head)
        found = life_of(self.ledger, self.incident(component)).state
        if found != expected:
            raise StoryError(f"{component} is {found}, the story says {expected}")

    def _fixed(self, line: str) -> str:
        return _CLOCK.sub("(now)", line.replace(str(self.folder), "~"))


def tell_story(folder: Path) -> str:
    """The whole page; runs for a minute or two."""
    teller = Teller(folder)
    teller.tell("# The life of two incidents")
    teller.tell(
        "Five synthetic drops of one cluster of four nodes, over three weeks. Everything below was printed by "
        "the commands as shown; this page is made by `python -m demo.lifecycle_story`. The drafts are "
        "those of the rules drafter, so no key is needed. Moments of the reader's own clock are shown as "
        "`(now)`."
    )
    for chapter in (_found, _repaired, _verified, _back, _replaced, _moved, _audit):
        chapter(teller)
    return "\n".join(teller.lines).rstrip() + "\n"


def _found(teller: Teller) -> None:
    teller.tell("## 3 March: found, reviewed, published")
    teller.drop("life-1-found")
    teller.run("incidents")
    for component in (LINK, CABLE):
        ticket = teller.ticket(component)
        words = (
            "review",
            ticket,
            "--approve",
            "--reviewer",
            "reviewer-1",
            "--reason",
            "evidence fits",
        )
        teller.run(*words)
    teller.run("publish")
    teller.run("tickets")


def _repaired(teller: Teller) -> None:
    teller.tell("## 4 March: the technician reports what was done")
    ticket = teller.ticket(LINK)
    teller.tell("An action that the ticket's repair order does not have is refused, with the list:")
    teller.run(
        "tickets", "repaired", ticket, "--action", "hit_it", "--by", "technician-2", expect=2
    )
    serial, step = teller.serial(LINK), teller.step(ticket, "reseat")
    teller.run(
        "tickets", "repaired", ticket, "--action", step.action, "--old-serial", serial,
        "--new-serial", serial, "--by", "technician-2", "--at", "2025-03-04T09:30Z",
    )  # fmt: skip
    cable = teller.ticket(CABLE)
    teller.run(
        "tickets", "repaired", cable, "--action", teller.step(cable, "clean", "reseat").action,
        "--by", "technician-2", "--at", "2025-03-04T10:10Z", "--note", "dust on the near plug",
    )  # fmt: skip


def _verified(teller: Teller) -> None:
    teller.tell("## 4 March, afternoon: 45 minutes under load, both links measured clean")
    teller.drop("life-2-repaired")
    teller.state(LINK, "verified")
    teller.state(CABLE, "verified")


def _back(teller: Teller) -> None:
    teller.tell("## 7 March: one of them is back")
    teller.drop("life-3-back")
    teller.state(LINK, "reopened")
    teller.tell(
        "The ticket has a new revision that waits for a person: the approval of the first one does not "
        "count for it. It begins at the next step of the repair order."
    )
    teller.run("tickets", teller.ticket(LINK))
    ticket = teller.ticket(LINK)
    teller.run(
        "review", ticket, "--approve", "--reviewer", "reviewer-1", "--reason", "it came back"
    )
    teller.run("publish")


def _replaced(teller: Teller) -> None:
    teller.tell("## 7 March, evening: another board is put in; 8 March: measured clean")
    ticket = teller.ticket(LINK)
    teller.run(
        "tickets", "repaired", ticket, "--action", teller.step(ticket, "replace").action,
        "--old-serial", teller.serial(LINK), "--new-serial", NEW_BOARD.serial,
        "--by", "technician-2", "--at", "2025-03-07T18:45Z",
    )  # fmt: skip
    teller.drop("life-4-board-replaced")
    teller.state(LINK, "verified")


def _moved(teller: Teller) -> None:
    teller.tell("## 20 March: the board that was taken out is bad in another node")
    teller.drop("life-5-board-moved")
    teller.state(MOVED, "new")
    teller.run("tickets", teller.ticket(MOVED))


def _audit(teller: Teller) -> None:
    teller.tell("## What an auditor sees")
    for sql in (
        "SELECT component, state, reason FROM incident_life ORDER BY first_seen, component",
        "SELECT action, step, repaired_at, outcome, time_to_repair_h FROM repair_outcomes ORDER BY seq",
        "SELECT * FROM repair_success",
        "SELECT serial, accused_incidents, taken_out, tickets FROM repeat_offenders",
    ):
        teller.run("audit", "query", sql)


def _until_audit(lines: list[str]) -> list[str]:
    """Without the closing list of further commands, which is the same after every run."""
    ends = [place for place, line in enumerate(lines) if line.startswith("audit database")]
    return lines[: ends[0]] if ends else lines


def _head(lines: list[str]) -> list[str]:
    """The head of a ticket: its revision, and how its incident stands."""
    return lines[: lines.index("")] if "" in lines else lines


def main() -> None:
    """Write the page to the file that was named."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m demo.lifecycle_story OUT.md")
    with tempfile.TemporaryDirectory() as folder:
        page = tell_story(Path(folder))
    Path(sys.argv[1]).write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
