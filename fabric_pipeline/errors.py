"""The one error family of the project: every message says what is wrong, where, and what to do next.

Front doors print `str(error)` and end with `exit_code`; no traceback reaches a user for these.
Programming mistakes are not wrapped: they stay ordinary exceptions.
"""

from __future__ import annotations


class FabricError(Exception):
    """Base of all expected failures.

    `message` names the place (file, line, field); `remedy` is one sentence on what to do.
    """

    exit_code = 1

    def __init__(self, message: str, remedy: str = "") -> None:
        """Keep both halves apart so that JSON output can carry them as two fields."""
        super().__init__(message if not remedy else f"{message} -> {remedy}")
        self.message = message
        self.remedy = remedy


class UsageError(FabricError):
    """The command was called in a way that cannot work."""

    exit_code = 2


class BadInputError(FabricError):
    """A file of the user's cannot be read as what it claims to be."""

    exit_code = 3


class NotFoundError(FabricError):
    """A drop, incident, ticket or table with that name does not exist."""

    exit_code = 4


class UnderWayError(NotFoundError):
    """A drop is known, but a run has not written what is asked for yet."""


class GateError(FabricError):
    """Publishing was refused because no person has approved exactly this draft."""

    exit_code = 5


class DraftingError(FabricError):
    """The drafter could not produce a usable ticket draft."""

    exit_code = 6


class PipelineError(FabricError):
    """A pipeline run failed; the message names the step and where its log is."""

    exit_code = 7


class EngineError(PipelineError):
    """The machines that shards are worked on cannot be reached or used."""


class UnreadableTableError(Exception):
    """A table file (Parquet) cannot be read; the text says why. Readers turn it into an unknown fact."""
