"""A real bash on a pseudo terminal: runs one command at a time and hands back the bytes that came.

The prompt carries the exit code in a sequence that terminals do not draw (OSC 133), which is how the end
of a command is known and its outcome checked.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from demo.film.errors import FilmError

COLUMNS, ROWS = 112, 28
LIMIT_S = 300.0
_STARTUP = r"""
PROMPT_COMMAND='code=$?; printf "\033]133;D;%s\007" "$code"; shown=""; [ "$code" -eq 0 ] || shown="[$code] "'
PS1='\033[1;31m${shown}\033[0m\033[1;34m~/fabric\033[0m $ '
"""
_END = re.compile(rb"\x1b\]133;D;(\d+)\x07")
_PROMPT_END = b"\x1b[0m $ "


@dataclass(frozen=True, slots=True)
class Printed:
    """What one command printed after its own line, with the prompt that followed, and its exit code."""

    output: str
    prompt: str
    exit_code: int


@dataclass
class Shell:
    """One terminal. `prompt` is what it shows before the first command."""

    environment: Mapping[str, str]
    folder: Path
    prompt: str = field(default="", init=False)
    _pid: int = field(default=0, init=False)
    _terminal: int = field(default=-1, init=False)

    def __post_init__(self) -> None:
        """Start bash; it shows its prompt."""
        startup = self.folder / ".home" / "bashrc"
        startup.write_text(_STARTUP, encoding="utf-8")
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.chdir(self.folder)
            os.execvpe(  # noqa: S606 - bash is what people type into
                "bash",  # noqa: S607
                ["bash", "--noprofile", "--noediting", "--rcfile", str(startup), "-i"],
                dict(self.environment),
            )
        size = struct.pack("HHHH", ROWS, COLUMNS, 0, 0)
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, size)
        self.prompt = self._until_prompt("bash").prompt

    def run(self, command: str) -> Printed:
        """Run to the end."""
        self._send(command)
        return self._until_prompt(command)

    def start(self, command: str, says: str) -> str:
        """Run a command that stays, until it has said this and ended the line."""
        self._send(command)
        seen, wanted = b"", says.encode()
        while wanted not in seen or not seen.endswith(b"\n"):
            seen += self._read(command, seen)
            if _END.search(seen):
                raise FilmError(f"{command} ended instead of staying:\n{_text(seen)}")
        return _text(seen)

    def close(self) -> None:
        """End what runs in it, and bash."""
        if self._pid:
            os.write(self._terminal, b"\x03")
            time.sleep(0.5)
            os.killpg(self._pid, signal.SIGHUP)
            os.close(self._terminal)
            os.waitpid(self._pid, 0)
            self._pid = 0

    def _send(self, command: str) -> None:
        """Type the line; the terminal echoes it, which is taken off again."""
        line = command.encode() + b"\n"
        os.write(self._terminal, line)
        echo = command.encode() + b"\r\n"
        seen = b""
        while len(seen) < len(echo):
            seen += self._read(command, seen, len(echo) - len(seen))
        if seen != echo:
            raise FilmError(f"the terminal echoed {seen!r} for {command!r}")

    def _until_prompt(self, command: str) -> Printed:
        seen = b""
        while not (_END.search(seen) and seen.endswith(_PROMPT_END)):
            seen += self._read(command, seen)
        end = _END.search(seen)
        assert end is not None  # noqa: S101 - the loop above ended
        return Printed(_text(seen[: end.start()]), _text(seen[end.end() :]), int(end[1]))

    def _read(self, command: str, seen: bytes, most: int = 65536) -> bytes:
        if not select.select([self._terminal], [], [], LIMIT_S)[0]:
            raise FilmError(f"{command} said nothing for {LIMIT_S:g} s; so far:\n{_text(seen)}")
        try:
            return os.read(self._terminal, most)
        except OSError as error:
            raise FilmError(f"the terminal ended during {command}:\n{_text(seen)}") from error


def _text(seen: bytes) -> str:
    return seen.decode("utf-8", "replace")
