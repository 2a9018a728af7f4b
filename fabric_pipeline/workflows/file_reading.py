"""Reading one file into the staging tables of a connection, in the way that fits its kind and size.

What became of it is said in words when it cannot be read. Whether it is read here, on a worker or not at
all because it was read before is decided in `workflows.ingest` and `workflows.staged_shards`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import Reader, SourceFile, TooLargeError
from fabric_pipeline.workflows import series_staging, staging
from fabric_pipeline.workflows.log_sifting import sifted
from fabric_pipeline.workflows.unread_files import why_unknown


def stage_file(connection: Any, file: SourceFile, reader: Reader, latest: datetime) -> ReadResult:
    """Put the rows of one file into the staging tables; returns what does not go there."""
    if "bulk" in reader.yields:
        staging.add_bulk(connection, file, reader, latest)
        return ReadResult()
    set_wise = series_staging.set_wise(file, reader)
    shown = sifted(connection, file, reader, latest)
    result = set_wise(connection, file, reader, latest) if set_wise else reader.read(shown)
    staging.add_result(connection, file, reader, result, latest)
    return result


def understood(
    connection: Any, file: SourceFile, reader: Reader | None, size: int, latest: datetime
) -> tuple[str, ReadResult]:
    """Stage one file of `size` bytes; what is wrong with all of it ("" when nothing is), and its result.

    With something wrong, rows of it may be staged; `staging.forget` takes them back.
    """
    try:
        if reader is None:
            return why_unknown(file, size), ReadResult()
        return "", stage_file(connection, file, reader, latest)
    except FileNotFoundError:
        problem = "is no longer there; drop it again when it is complete"
    except OSError as refused:
        problem = f"cannot be read ({refused.strerror}); check the file and drop it again"
    except staging.UnreadableFileError as unreadable:
        problem = str(unreadable)
    except TooLargeError as large:
        problem = f"{large.message}; {large.remedy}"
    except Exception as failure:  # a reader of somebody else's may fail; the other files count
        said = f"{type(failure).__name__}: {str(failure)[:200]}"
        name = reader.format_id if reader else "of unknown files"
        problem = f"the reader {name} failed on it ({said}); report this fault"
    return problem, ReadResult()


def refused_whole(result: ReadResult) -> str:
    """The rule by which a reader refused a whole file, "" when anything came out of it."""
    rules = [refused.rule for refused in result.rejected if refused.line is None]
    is_all = result == ReadResult(rejected=result.rejected) and len(rules) == len(result.rejected)
    return rules[0] if is_all and rules else ""
