"""The fabrics that the portal keeps ready: at most a few, each read once, the newest before anybody asks.

Reading is `workflows.fabric_view`'s; every reading opens and closes its own files. The thread of
`Warmer` is started by the server alone.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict

from fabric_pipeline.errors import FabricError, PipelineError
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.columns import DatabaseError
from fabric_pipeline.workflows.fabric_search_index import index_of
from fabric_pipeline.workflows.fabric_view import (
    drops_with_fabric,
    load_fabric_view,
    view_signature,
)
from fabric_pipeline.workflows.fabric_view_model import FabricView

# Views of the drops asked for last; one of 1,000 nodes takes some 60 MB.
KEPT_VIEWS = 3
LOOK_EVERY_S = 4.0
_TRIES = 3
_log = logging.getLogger(__name__)


class Views:
    """Views of one home by drop and by when their tables were written."""

    def __init__(self, settings: Settings) -> None:
        """Reads nothing yet."""
        self._settings = settings
        self._kept: OrderedDict[tuple[str, int], FabricView] = OrderedDict()
        self._loading: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    @property
    def drops(self) -> list[str]:
        """Drops that can be shown, the one read last first."""
        return drops_with_fabric(self._settings.lake)

    def view(self, drop: str) -> FabricView:
        """The fabric of a drop as its tables are now; who asks meanwhile waits for the same reading."""
        found = self._known(drop)
        if found is not None:
            return found
        with self._lock:
            one_at_a_time = self._loading.setdefault(drop, threading.Lock())
        with one_at_a_time:
            return self._known(drop) or self._read(drop)

    def version(self, drop: str) -> str:
        """Names the tables behind a drop: another text once one of them is written again."""
        return f"{drop}@{view_signature(self._settings.lake, drop):x}"

    def newest_ready(self) -> FabricView | None:
        """The fabric of the newest drop if it has been read already."""
        drops = self.drops
        return self._known(drops[0]) if drops else None

    def warm(self) -> FabricView | None:
        """Make the newest drop ready, as a search needs it too; None when there is no drop."""
        drops = self.drops
        if not drops:
            return None
        view = self.view(drops[0])
        index_of(self._settings, view)
        return view

    def _known(self, drop: str) -> FabricView | None:
        key = (drop, view_signature(self._settings.lake, drop))
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _read(self, drop: str) -> FabricView:
        """A run may write a table while others are being read: then it is read again."""
        for _ in range(_TRIES):
            signature = view_signature(self._settings.lake, drop)
            try:
                view = load_fabric_view(self._settings, drop)
            except DatabaseError as error:
                raise PipelineError(
                    f"a table of drop {drop} cannot be read: {str(error).splitlines()[0][:200]}",
                    "run the pipeline on it again; other drops can be shown meanwhile",
                ) from error
            if signature == view_signature(self._settings.lake, drop):
                self._keep((drop, signature), view)
                break
        return view

    def _keep(self, key: tuple[str, int], view: FabricView) -> None:
        with self._lock:
            for older in [known for known in self._kept if known[0] == key[0]]:
                del self._kept[older]
            self._kept[key] = view
            while len(self._kept) > KEPT_VIEWS:
                self._kept.popitem(last=False)


class Warmer:
    """A thread that keeps the newest drop ready, from the start and after every change."""

    def __init__(self, views: Views, every_s: float = LOOK_EVERY_S) -> None:
        """`every_s` is how often it looks whether there is something new."""
        self._views, self._every_s = views, every_s
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="warm-views", daemon=True)

    def start(self) -> None:
        """Begin; nobody waits for it."""
        self._thread.start()

    def stop(self) -> None:
        """End after the reading under way."""
        self._stopped.set()
        self._thread.join(timeout=30)

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._views.warm()
            except (FabricError, OSError, ValueError) as error:
                _log.warning("the newest drop could not be made ready: %s", error)
            self._stopped.wait(self._every_s)
