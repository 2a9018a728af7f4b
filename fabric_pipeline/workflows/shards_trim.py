"""How long files of shards are kept after a run last used them. What they are is said in `store.shard_files`.

All of them may go at any time: a shard whose result is not there is computed again.
"""

from __future__ import annotations

import shutil
import time
from datetime import timedelta

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.shard_files import Expired, Place, expire
from fabric_pipeline.workflows.shards import WORKPLACE
from fabric_pipeline.workflows.staged_trim import trim

# In a shared folder a result is a second name of a file of the lake and holds its bytes when that expires.
KEEP_SHARDS_DAYS = 7


_WORKPLACE_S = 24 * 3600.0  # no shard is worked on for so long


def trim_shards(settings: Settings, keep_days: int = KEEP_SHARDS_DAYS) -> Expired:
    """Remove what no run used for so long: in the home, and in the object store where one is set."""
    older_than = timedelta(days=keep_days)
    _clear_workplaces(settings)
    places = [Place("", str(settings.shards))]
    if settings.shard_store:
        places.append(Place(settings.shard_store))
    gone = [trim(settings, older_than=older_than), *(expire(one, older_than) for one in places)]
    return Expired(sum(one.files for one in gone), sum(one.size_bytes for one in gone))


def _clear_workplaces(settings: Settings) -> None:
    """Folders in which a worker made its files when it was killed."""
    for folder in settings.shards.glob(f"{WORKPLACE}*"):
        if time.time() - folder.stat().st_mtime > _WORKPLACE_S:
            shutil.rmtree(folder, ignore_errors=True)
