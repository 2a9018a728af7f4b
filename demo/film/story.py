"""The film as data: scenes in order, each with its caption, its minute and what is done in it.

Names of controls and words that must be seen stand here, so that a film in which the product behaves
otherwise is never made. How it is filmed stands in the other modules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from demo.film.pace import at_least_ticks

DROP = "crc-multibit-lane"
PORTAL = "127.0.0.1:8321"
EDITOR, REVIEWER = "technician-2", "reviewer-1"
_ADDED = " Photograph the tab before you open the node."
_CLOCK = "Latency and link errors on one clock"
_AGREES = "Place, part and steps agree with the evidence."
_AUDIT = (
    "python -c \"import duckdb; duckdb.connect('warehouse/audit.duckdb', read_only=True)"
    ".sql('select ticket_id, revision, decision, reviewer, published_at from who_approved_what').show()\""
)


@dataclass(frozen=True, slots=True)
class NewShell:
    """A fresh terminal; what runs in the one before keeps running."""


@dataclass(frozen=True, slots=True)
class Type:
    """A command at the prompt. It must end with this exit code and print these words.

    `stays` marks a command that serves until the film is over.
    """

    command: str
    says: tuple[str, ...]
    exit_code: int = 0
    stays: bool = False


@dataclass(frozen=True, slots=True)
class Open:
    """An address of the portal, typed by the person."""

    path: str
    shows: str


@dataclass(frozen=True, slots=True)
class Click:
    """A control by its role and a part of its name; afterwards `shows` must be seen."""

    role: Literal["link", "button"]
    name: str
    shows: str


@dataclass(frozen=True, slots=True)
class Write:
    """Words into a field by its label: in its place, or after what stands there."""

    label: str
    text: str
    appends: bool = False


@dataclass(frozen=True, slots=True)
class Brush:
    """A drag over the upper chart of a region between two shares of its width; `From` must change."""

    region: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Look:
    """Scroll until this heading is so many pixels below the top; "" is the top of the page."""

    heading: str
    margin: int = 90


@dataclass(frozen=True, slots=True)
class Hold:
    """Let the picture stand."""

    ticks: int


Action = NewShell | Type | Open | Click | Write | Brush | Look | Hold


@dataclass(frozen=True, slots=True)
class Scene:
    """What is done under one caption. `minute` moves the clock of the film, "" leaves it."""

    caption: str
    actions: tuple[Action, ...]
    minute: str = ""
    is_poster: bool = False

    @property
    def least_ticks(self) -> int:
        """How long the caption must stand to be read."""
        return at_least_ticks(self.caption)


STORY: tuple[Scene, ...] = (
    Scene(
        "A drop comes in: one hour of telemetry from eight GPU nodes.",
        (
            NewShell(),
            Type(f"wc -l drops/{DROP}/*", (f"20619 drops/{DROP}/counters.csv",)),
            Hold(10),
        ),
        minute="2026-11-20T11:11:00+00:00",
    ),
    Scene(
        "One command, a Dagster run: one lane is named, a ticket is drafted.",
        (
            Type(
                f"fabric-pipeline run drops/{DROP}",
                ("gpu-r11-n03:gpu5/nvlink-11/lane-1", "1 ticket(s) wait for a person"),
            ),
            Hold(16),
        ),
        minute="2026-11-20T11:12:00+00:00",
    ),
    Scene(
        "Not before a person has approved it: publishing is refused.",
        (Type("fabric-pipeline publish", ("nothing is approved",), exit_code=5), Hold(18)),
        minute="2026-11-20T11:13:00+00:00",
    ),
    Scene(
        "The portal, on this machine alone.",
        (Type("fabric-pipeline portal", (f"portal on http://{PORTAL}",), stays=True), Hold(8)),
        minute="2026-11-20T11:14:00+00:00",
    ),
    Scene(
        "The map: healthy is muted, trouble has a colour and a shape.",
        (Open("/", "1 critical"), Hold(20)),
    ),
    Scene(
        "NVLink 11 of GPU 5: both ends, counters beside their limits.",
        (Click("link", "Critical: gpu5/nvlink-11 of gpu-r11-n03", "Counters beside their limits"),),
    ),
    Scene(
        "On one clock: its errors lie under the slow all-reduces.",
        (Look(_CLOCK, margin=420), Hold(20)),
    ),
    Scene(
        "Brush one burst, and every chart zooms to it.",
        (Brush(_CLOCK, 0.35, 0.57), Hold(20)),
        is_poster=True,
    ),
    Scene(
        "The draft says where each field comes from; the gate is shut.",
        (Click("link", "Open T-", "no person has reviewed this draft yet"), Hold(26)),
        minute="2026-11-20T11:21:00+00:00",
    ),
    Scene(
        "A technician adds to a step; what was measured cannot be edited.",
        (
            Click("link", "Edit the draft", "people cannot change them"),
            Write("Do", _ADDED, appends=True),
            Write("Your name", EDITOR),
            Write("Why it is changed", "The tab is easy to misread."),
        ),
    ),
    Scene(
        "The edit is a new revision: what changed, by whom, and why.",
        (
            Click("button", "Save the edit", "Edits to the draft"),
            Look("Edits to the draft"),
            Hold(24),
        ),
    ),
    Scene(
        "Four eyes: who edited a draft cannot approve it.",
        (
            Look(""),
            Write("Reviewer", EDITOR),
            Write("Reason", _AGREES),
            Click("button", "Approve", "another person must approve it"),
            Hold(26),
        ),
        minute="2026-11-20T11:34:00+00:00",
    ),
    Scene(
        "Another person approves this text; a Dagster run publishes it.",
        (
            Write("Reviewer", REVIEWER),
            Click("button", "Approve", "run ended"),
            Hold(28),
        ),
        minute="2026-11-20T11:36:00+00:00",
    ),
    Scene(
        "The technician's sheet: place, parts, safety, steps, test.",
        (Click("link", "Print for the technician", "T-8f1e83714874"), Hold(30)),
    ),
    Scene(
        "The outbox: files for people and for other ticket systems.",
        (
            NewShell(),
            Type("ls warehouse/outbox/*", ("jira.json", "sheet.html", "ticket.json")),
            Type("head -10 warehouse/outbox/*/ticket.json", (f'"reviewer": "{REVIEWER}"',)),
            Hold(16),
        ),
        minute="2026-11-20T11:40:00+00:00",
    ),
    Scene(
        "The dossier: every byte checked, the diagnosis run again from it.",
        (
            Type(
                "fabric-pipeline dossier verify warehouse/dossiers/*",
                ("all as listed", "same incident, everything run again"),
            ),
            Hold(26),
        ),
    ),
    Scene(
        "An auditor needs nothing of ours: plain DuckDB opens the file.",
        (Type(_AUDIT, ("approved", REVIEWER)), Hold(26)),
        minute="2026-11-20T11:45:00+00:00",
    ),
    Scene(
        "Or asks on the page: did anybody approve words of their own?",
        (
            Open("/audit/query", "Ready questions"),
            Hold(8),
            Click("link", "Did anybody approve a text", "No row"),
            Hold(30),
        ),
    ),
)
