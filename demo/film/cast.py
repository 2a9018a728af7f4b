"""The terminal part as an asciicast (version 2), for players that let a reader copy the text.

Its clock is that of the film: every caption is a marker at the moment at which it appears in the film.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from demo.film.pace import seconds
from demo.film.reel import Cue
from demo.film.shell import COLUMNS, ROWS

# A player skips what is longer, which is where the film is in the browser.
IDLE_LIMIT_S = 3
# Clears the screen, as a new terminal is empty.
CLEAR = "\x1bc"


@dataclass
class Cast:
    """What the terminal was sent, with the tick of the film."""

    sent: list[tuple[int, str]] = field(default_factory=list)

    def send(self, ticks: int, text: str) -> None:
        """Text and control sequences at this moment."""
        self.sent.append((ticks, text))

    def as_text(self, title: str, cues: Sequence[Cue]) -> str:
        """The file: a head, then one event a line."""
        head = {
            "version": 2, "width": COLUMNS, "height": ROWS, "title": title,
            "idle_time_limit": IDLE_LIMIT_S, "env": {"TERM": "xterm-256color", "SHELL": "/bin/bash"},
        }  # fmt: skip
        events = [(cue.start, 0, "m", cue.text) for cue in cues]
        events += [(tick, 1, "o", text) for tick, text in self.sent]
        events.sort(key=lambda event: event[:2])
        lines = [json.dumps(head)]
        lines += [
            json.dumps([seconds(tick), kind, text], ensure_ascii=False)
            for tick, _, kind, text in events
        ]
        return "\n".join(lines) + "\n"
