"""Health checks as their projects publish them, applied as written and never tuned.

They see what their agent sees: counters of GPUs and NICs, not the far ends at switches. What they
do not cover is named with each and counts as missed.
"""

from __future__ import annotations

import numpy as np

from benchmarks.baselines.method import accused
from benchmarks.fleet_window import Observed
from benchmarks.scoring import Answer
from fabric_pipeline.diagnose.localise.window import Flags, Floats, Ints
from fabric_pipeline.synth.fleet import FleetScenario

_CRC = ("crc_single_bit", "crc_multi_bit")
_MINUTE_S, _HOUR_S = 60.0, 3600.0
# Least counts in a minute that DCGM reports, largest ones in a span that NVSentinel lets pass.
_DCGM_CRC, _DCGM_REPLAYS, _DCGM_PCIE_REPLAYS = 6000.0, 1.0, 9.0
_SENTINEL_PER_MINUTE, _SENTINEL_SYMBOLS_PER_H = 600.0, 120.0


def dcgm_health(observed: Observed, _parameter: float = 0.0) -> list[Answer]:
    """DCGM's background health check of GPUs over one minute.

    NVLink: 100 CRC errors a second or any step of replay fail (no recovery is counted here); fewer
    CRC errors only warn and accuse nobody. PCIe of GPUs: more than 8 replays a minute warn. Not
    covered: NICs and their PCIe, InfiniBand, what only the switch counts.
    """
    scenario = observed.scenario
    links: set[int] = set()
    for counter in _CRC:
        links |= _dcgm_over(scenario, counter, _DCGM_CRC * _stretch(scenario, _MINUTE_S))
    links |= _dcgm_over(scenario, "replay", _DCGM_REPLAYS)
    slower = _DCGM_PCIE_REPLAYS * _stretch(scenario, _MINUTE_S)
    return accused(links | _dcgm_over(scenario, "pcie_replay", slower))


def gcm_check(observed: Observed, _parameter: float = 0.0) -> list[Answer]:
    """Gcm's check of NVLink errors: tolerance 0 for CRC, replay and recovery over the lifetime.

    Not covered: PCIe, InfiniBand, what only the switch counts. Errors from before the window are
    not known here, so it accuses less than it would in service.
    """
    mine = _on_gpu(observed.scenario) & _is_counter(observed.scenario, (*_CRC, "replay"))
    return accused(observed.scenario.increments.end[mine] // 2)


def nvsentinel(observed: Observed, _parameter: float = 0.0) -> list[Answer]:
    """NVSentinel's limits for ports of NICs, warning or fatal.

    Symbol errors: more than 10 a second, or more than 120 an hour. Receive errors: more than 10 a
    second. The generator has none of its others: link_downed, link_error_recovery, integrity,
    buffer overruns, discards. Not covered: ports of switches, PCIe; NVLink only by Xid, of which
    there are none here, and by DCGM, which is measured on its own.
    """
    scenario = observed.scenario
    links = _sums_over(scenario, "symbol_error", _MINUTE_S, _SENTINEL_PER_MINUTE)
    links |= _sums_over(scenario, "symbol_error", _HOUR_S, _SENTINEL_SYMBOLS_PER_H)
    links |= _sums_over(scenario, "rx_errors", _MINUTE_S, _SENTINEL_PER_MINUTE)
    return accused(links)


def _dcgm_over(scenario: FleetScenario, counter: str, least: float) -> set[int]:
    """Links of GPUs with |last - first| of at least `least` in some minute.

    Resets are not looked for, as in DCGM: a value that falls counts like one that rises.
    """
    chosen = _on_gpu(scenario) & _is_counter(scenario, (counter,))
    ends, growth, is_reset = _loud_series(scenario, chosen, least)
    values = _readings(growth, is_reset)
    width = _bins_of(scenario, _MINUTE_S)
    before = np.pad(values, ((0, 0), (width, 0)))[:, : values.shape[1]]
    over = (np.abs(values - before) >= least).any(axis=1)
    return set((ends[over] // 2).tolist())


def _readings(growth: Floats, is_reset: Flags) -> Floats:
    """Values of counters that start at 0 and fall at a reset, to what they counted since.

    A reset shows in the sample with the first growth after it, the only one that is known here.
    """
    values = np.cumsum(growth, axis=1)
    lost = np.where(is_reset, values - growth, 0.0)
    readings: Floats = values - np.maximum.accumulate(lost, axis=1)
    return readings


def _sums_over(scenario: FleetScenario, counter: str, span_s: float, limit: float) -> set[int]:
    """Links of NICs whose counter grew by more than `limit` within some span of time."""
    links, increments = scenario.links, scenario.increments
    is_port = (links.link_type == "infiniband") & (links.node_index >= 0)
    chosen = is_port[increments.end // 2] & (increments.end % 2 == 0)
    ends, growth, _ = _loud_series(scenario, chosen & _is_counter(scenario, (counter,)), limit)
    width = _bins_of(scenario, span_s)
    sums = np.pad(np.cumsum(growth, axis=1), ((0, 0), (width, 0)))
    over = (sums[:, width:] - sums[:, :-width] > limit * _stretch(scenario, span_s)).any(axis=1)
    return set((ends[over] // 2).tolist())


def _loud_series(
    scenario: FleetScenario, chosen: Flags, least: float
) -> tuple[Ints, Floats, Flags]:
    """Ends that counted at least `least` in the window, with growth and resets [ends, bins]."""
    found = scenario.increments
    at = np.flatnonzero(chosen)
    total = np.bincount(found.end[at], weights=found.delta[at], minlength=1)
    ends = np.flatnonzero(total >= least)
    row = np.full(len(total), -1)
    row[ends] = np.arange(len(ends))
    at = at[row[found.end[at]] >= 0]
    place = (row[found.end[at]], found.bin[at])
    growth = np.zeros((len(ends), scenario.spec.bins))
    is_reset = np.zeros(growth.shape, dtype=bool)
    growth[place], is_reset[place] = found.delta[at], found.is_reset[at]
    return ends, growth, is_reset


def _bins_of(scenario: FleetScenario, span_s: float) -> int:
    """Bins of a span of time, at least one."""
    return max(1, round(span_s / scenario.spec.step_s))


def _stretch(scenario: FleetScenario, span_s: float) -> float:
    """How much longer the bins of a span are than the span itself, where sampling is slow."""
    return _bins_of(scenario, span_s) * scenario.spec.step_s / span_s


def _on_gpu(scenario: FleetScenario) -> Flags:
    """Increments that a GPU counted itself."""
    end = scenario.increments.end
    own: Flags = (end % 2 == 0) & (scenario.links.gpu[end // 2] >= 0)
    return own


def _is_counter(scenario: FleetScenario, names: tuple[str, ...]) -> Flags:
    wanted = [scenario.counters.index(name) for name in names]
    return np.isin(scenario.increments.counter, wanted)
