"""The one error of the film: something it shows did not happen, or something to make it with is missing."""

from __future__ import annotations


class FilmError(RuntimeError):
    """The film was not made; the message says why and what to do."""
