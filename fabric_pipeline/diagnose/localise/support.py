"""How well a link's error time fits the slow time of the collectives that cross it: a two-by-two table and its odds.

Rows are erring and quiet bins, columns slow and normal cells. Slow time of other runs at the same moment,
and of the same collectives while the link is quiet, sets what would be slow anyway.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fabric_pipeline.diagnose.localise.cells import widened
from fabric_pipeline.diagnose.localise.window import (
    LOCAL,
    Flags,
    Floats,
    Ints,
    Window,
    by_number,
)

LAGS = (0, -1, 1, -2, 2, -3, 3)
# Nats: a clock that is off is possible, not likely, and the further the less.
_LAG_COST_FIRST, _LAG_COST = 2.0, 0.7
BASE_RATE = 0.015  # share of cells that are slow for no reason
_CELLS_PER_BIN = 3.0  # collectives of one bin are one observation several times over
_HIGHEST = 0.98
_SLOW_SHARE = 0.9
_BLOCK = 4096  # groups that are added up together


@dataclass(slots=True)
class ClassView:
    """Groups of one class (inside a node or between nodes) on one path, summed over groups: all [T]."""

    slow: Floats
    cells: Floats
    control_slow: Floats
    control_cells: Floats


@dataclass(slots=True)
class PathView:
    """What the collectives of one path did. `deviation` [T] is their mean, NaN in bins without any."""

    groups: Ints
    classes: list[ClassView]
    deviation: Floats

    @property
    def slow(self) -> Floats:
        """[T] slow cells."""
        total: Floats = np.sum([one.slow for one in self.classes], axis=0)
        return total

    @property
    def cells(self) -> Floats:
        """[T] measured cells."""
        total: Floats = np.sum([one.cells for one in self.classes], axis=0)
        return total

    def odds(self) -> Floats:
        """[T] log odds that the bin is slow against that it is as usual, 0 where nothing was measured."""
        total = np.zeros(len(self.deviation))
        for one in self.classes:
            others = (one.control_slow + 4 * BASE_RATE) / (one.control_cells + 4.0)
            usual = np.clip(others, BASE_RATE, 0.5)
            fraction = one.slow / np.maximum(one.cells, 1.0)
            gain = fraction * np.log(_SLOW_SHARE / usual) + (1 - fraction) * np.log(
                (1 - _SLOW_SHARE) / (1 - usual)
            )
            total += np.where(one.cells > 0, np.minimum(one.cells, _CELLS_PER_BIN) * gain, 0.0)
        return total


@dataclass(slots=True)
class Support:
    """The table of one link at its best lag, in cells, and the log odds `llr` (nats) that it is no chance."""

    lag: int
    active: Flags
    slow_active: float
    normal_active: float
    slow_quiet: float
    normal_quiet: float
    llr: float
    slow_anyway: float
    bins: int

    @property
    def share_slow(self) -> float:
        """Chance that a collective is slow while the link errs."""
        return (self.slow_active + 0.5) / (self.slow_active + self.normal_active + 1.0)

    @property
    def signed_odds(self) -> float:
        """`llr`, negative when collectives are less slow than usual while the link errs."""
        return self.llr if self.share_slow > self.slow_anyway else -abs(self.llr)

    @property
    def coverage(self) -> float:
        """Share of the slow time that falls into error time."""
        return self.slow_active / max(self.slow_active + self.slow_quiet, 1.0)


class Cells:
    """Slow and measured cells that no accepted cause explains yet, with sums by class and run.

    Sums are kept in blocks of groups, so that `renew` adds up only what changed.
    """

    def __init__(self, window: Window, slow: Floats, valid: Flags) -> None:
        groups, bins = slow.shape
        self.slow, self.valid = np.zeros_like(slow), np.zeros_like(valid)
        self.slow_32 = np.zeros(slow.shape, np.float32)
        self.valid_32 = np.zeros(slow.shape, np.float32)
        self.is_local = window.series.kind == LOCAL
        self._run = window.series.run
        self._of_run = by_number(self._run)
        self._window = window
        self._most = np.zeros(groups)
        blocks = -(-groups // _BLOCK)
        # Of both classes, groups inside a node first, and of all groups.
        self._slow_of = np.zeros((3, blocks, bins))
        self._valid_of = np.zeros((3, blocks, bins), dtype=np.int64)
        self.renew(slow, valid, np.arange(groups))

    def renew(self, slow: Floats, valid: Flags, groups: Ints) -> None:
        """Take over the cells of these groups and add them up anew."""
        self.slow[groups] = np.where(valid[groups], slow[groups], 0.0)
        self.valid[groups] = valid[groups]
        self.slow_32[groups], self.valid_32[groups] = self.slow[groups], self.valid[groups]
        self._most[groups] = self.slow[groups].max(axis=1, initial=0.0)
        for block in np.unique(groups // _BLOCK).tolist():
            part = slice(block * _BLOCK, (block + 1) * _BLOCK)
            is_local, part_slow, part_valid = self.is_local[part], self.slow[part], self.valid[part]
            for number, chosen in enumerate((is_local, ~is_local, slice(None))):
                self._slow_of[number, block] = part_slow[chosen].sum(axis=0)
                self._valid_of[number, block] = part_valid[chosen].sum(axis=0)
        self._total_slow = self._slow_of.sum(axis=1)
        self._total_valid = self._valid_of.sum(axis=1)
        self.slow_sum, self.valid_sum = self._total_slow[2], self._total_valid[2]

    @property
    def slowest(self) -> float:
        """The largest value of any cell; 0 without cells."""
        return float(self._most.max(initial=0.0))

    def of_runs(self, groups: Ints) -> Ints:
        """All groups of the runs of these groups, rising."""
        runs = np.unique(self._run[groups]).tolist()
        return np.sort(np.concatenate([groups[:0], *(self._of_run[run] for run in runs)]))

    def path(self, groups: Ints) -> PathView:
        """Sums over the groups of one path; the control groups are those of runs that do not use it."""
        classes = []
        of_runs = self.of_runs(groups)
        for number, is_local in enumerate((True, False)):
            mine = groups[self.is_local[groups] == is_local]
            if not len(mine):
                continue
            related = of_runs[self.is_local[of_runs] == is_local]
            slow, cells = self._total_slow[number], self._total_valid[number]
            classes.append(
                ClassView(
                    self.slow[mine].sum(axis=0),
                    self.valid[mine].sum(axis=0).astype(float),
                    slow - self.slow[related].sum(axis=0),
                    (cells - self.valid[related].sum(axis=0)).astype(float),
                )
            )
        deviation = self._window.series.deviation[groups]
        counted = self.valid[groups]
        number_of = counted.sum(axis=0)
        summed = np.where(counted, deviation, 0.0).sum(axis=0)
        mean = np.where(number_of > 0, summed / np.maximum(number_of, 1), np.nan)
        return PathView(groups, classes, mean)


def shifted(flags: Flags, lag: int) -> Flags:
    """The same flags `lag` bins later; what comes in from outside is quiet."""
    moved = np.zeros_like(flags)
    if lag == 0:
        return flags
    if lag > 0:
        moved[lag:] = flags[:-lag]
    else:
        moved[:lag] = flags[-lag:]
    return moved


@dataclass(frozen=True, slots=True)
class Shifts:
    """Erring and quiet bins of one link at every lag, both [lags, T]; a bin beside an erring one is neither."""

    erring: Flags
    quiet: Flags

    @classmethod
    def of(cls, active: Floats) -> Shifts:
        """From the erring bins; NaN bins are neither erring nor quiet."""
        erring = np.stack([shifted(active > 0.5, lag) for lag in LAGS])
        return cls(erring, ~widened(erring, 1) & ~np.isnan(active))


def best_support(path: PathView, shifts: Shifts) -> Support | None:
    """The table at the lag that fits best; None when no collective was measured while the link erred."""
    masks, quiet = shifts.erring, shifts.quiet
    llr = np.zeros(len(LAGS))
    tables = np.zeros((4, len(LAGS)))
    anyway, weight = np.zeros(len(LAGS)), np.zeros(len(LAGS))
    for one in path.classes:
        table, odds, expected = _class_odds(one, masks, quiet)
        used = table[0] + table[1]
        tables += table
        llr += odds
        anyway += expected * used
        weight += used
    llr -= _LAG_COST * np.abs(LAGS) + _LAG_COST_FIRST * (np.array(LAGS) != 0)
    seen = weight > 0
    if not seen.any():
        return None
    place = int(np.argmax(np.where(seen, llr, -np.inf)))
    bins = int((masks[place] & (path.cells > 0)).sum())
    slow_active, normal_active, slow_quiet, normal_quiet = (float(x) for x in tables[:, place])
    return Support(
        LAGS[place], masks[place], slow_active, normal_active, slow_quiet, normal_quiet, float(llr[place]),
        float(anyway[place] / weight[place]), bins,
    )  # fmt: skip


def responding_groups(
    cells: Cells, groups: Ints, shifts: Shifts, share: float
) -> tuple[Ints, float]:
    """Groups that seem to cross a link whose routing is not known, and the price (nats) of having chosen them.

    Each group crosses the link with chance `share`; it counts where its own odds outweigh that. The price
    is that of a mixture: those chosen do cross it, those left out do not.
    """
    one_costs, other_costs = float(np.log(1 / share)), float(-np.log(1 - min(share, 0.99)))
    chosen = []
    for group in groups:
        one = best_support(cells.path(np.array([group])), shifts)
        if one is not None and one.llr > one_costs and one.share_slow > one.slow_anyway:
            chosen.append(int(group))
    price = one_costs * len(chosen) + other_costs * (len(groups) - len(chosen))
    return np.array(chosen, dtype=np.int64), price


def _class_odds(one: ClassView, masks: Flags, quiet: Flags) -> tuple[Floats, Floats, Floats]:
    """Per lag: the table (4 rows), the log odds and the mean rate of slow cells to expect anyway."""
    slow_active, cells_active = masks @ one.slow, masks @ one.cells
    slow_quiet, cells_quiet = quiet @ one.slow, quiet @ one.cells
    share = np.clip((slow_active + 0.5) / (cells_active + 1.0), 0.02, _HIGHEST)[:, None]
    own = (slow_quiet + 10 * BASE_RATE) / (cells_quiet + 10.0)
    others = (one.control_slow + 4 * BASE_RATE) / (one.control_cells + 4.0)
    expected = np.clip(np.maximum(own[:, None], others[None, :]), BASE_RATE, _HIGHEST)
    fraction = one.slow / np.maximum(one.cells, 1.0)
    weight = np.minimum(one.cells, _CELLS_PER_BIN)
    odds = fraction * np.log(share / expected) + (1 - fraction) * np.log(
        (1 - share) / (1 - expected)
    )
    counted = masks & (one.cells > 0)
    llr = np.where(counted, weight * odds, 0.0).sum(axis=1)
    mean = (expected * counted).sum(axis=1) / np.maximum(counted.sum(axis=1), 1)
    table = np.stack(
        [slow_active, cells_active - slow_active, slow_quiet, cells_quiet - slow_quiet]
    )
    return table, llr, mean
