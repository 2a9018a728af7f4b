"""Time from readings to spikes: counting plus spike detection beside one plain `lag` pass of DuckDB.

Writes narrow Parquet files (series number, time, value), sorted by series and time, once per set of
parameters; planted bursts must be found. `python -m benchmarks.spikes --help` tells the parameters.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabric_pipeline.detect.counting.counters_sql import catalogue_sql
from fabric_pipeline.detect.spikes.evaluate import detect_from_series
from fabric_pipeline.detect.spikes.series import create_empty
from fabric_pipeline.store.duck import connect, literal

# The first nine may be noisy; a retrain or an uncorrected error is never mere noise.
COUNTERS = (
    "crc_flit", "crc_data", "replay", "plr_retry", "rx_malformed", "rx_general", "crc_single_bit", "crc", "crc_phy",
    "recovery", "ecc", "plr_uncorrectable",
)  # fmt: skip
_MAY_BE_NOISY = 9
_STEP_S = 30
_PLANTED_EVERY = 50_000  # one series in so many has a burst of 3000 errors in five minutes
_CHUNK = 25_000_000  # readings per file


@dataclass(frozen=True)
class Size:
    """How much is generated."""

    ends: int
    counters: int
    samples: int
    noisy: float

    @property
    def series(self) -> int:
        """Error series."""
        return self.ends * self.counters

    @property
    def readings(self) -> int:
        """Rows in all files."""
        return self.series * self.samples

    @property
    def name(self) -> str:
        """Folder of these parameters."""
        return f"ends{self.ends}_counters{self.counters}_samples{self.samples}_noisy{self.noisy:g}"


def generate(size: Size, folder: Path) -> None:
    """Counters that stand still, counters with background noise of 30 an hour, and a few bursts.

    Noise comes from DuckDB's hash, so the files are the same on every machine.
    """
    folder.mkdir(parents=True)
    con = connect()
    able = min(size.counters, _MAY_BE_NOISY)
    share = size.noisy * 10_000 * size.counters / able
    counters = ", ".join(f"'{name}'" for name in COUNTERS[: size.counters])
    con.execute(f"""
    copy (select s::integer as series, 'node-' || lpad((s // {size.counters} // 144)::varchar, 5, '0') as node,
        'gpu' || (s // {size.counters} // 18 % 8) || '/nvlink-' || (s // {size.counters} % 18) as interface, [{counters}][s % {size.counters} + 1] as counter
        from range({size.series}) r(s)) to {literal(str(folder / "series.parquet"))}""")
    per_file = max(1, _CHUNK // size.samples)
    for number, first in enumerate(range(0, size.series, per_file)):
        last = min(first + per_file, size.series)
        con.execute(f"""
        copy (
            with s as (
                select s::integer as series, s % {size.counters} < {able} and hash(s) % 10000 < {share:.0f} as is_noisy, s % {_PLANTED_EVERY} = 77 as is_bad,
                    (hash(s + 1) % 20)::bigint as first from range({first}, {last}) r(s)
            ), steps as (
                select series, first, t, case when is_bad and t between 100 and 109 then 300 else 0 end
                    + case when is_noisy and hash(series::bigint * 100003 + t) % 1000 < 220 then 1 else 0 end as step
                from s, range({size.samples}) r(t) where is_noisy or is_bad
            ), readings as (
                select series, t, first + sum(step) over (partition by series order by t)::bigint as value from steps
                union all select series, t, first from s, range({size.samples}) r(t) where not (is_noisy or is_bad)
            )
            select series, (1900000000 + {_STEP_S} * t) * 1000000 as ts_us, value from readings order by series, t
        ) to {literal(str(folder / f"readings-{number:03}.parquet"))} (row_group_size 500000)""")
    con.close()


# Constant series, nearly all, are told by their extremes and never reach the window; they stay the
# exposure. What the extremes cannot tell (usual step, resets) is taken from the increments.
_EXTREMES = """
create or replace temp table extremes as
select series, count(*) as samples, min(ts_us) as first_us, max(ts_us) as last_us, min(value) as low, max(value) as high from readings group by series
"""
_STEPS = """
create or replace temp table steps as
with moving as (select series from extremes where low <> high), counted as (
    select series, ts_us, value, value - lag(value) over w as step, ts_us - lag(ts_us) over w as elapsed_us, row_number() over w as sample
    from readings semi join moving using (series) window w as (partition by series order by ts_us)
)
select series, sample, ts_us, elapsed_us, case when step < 0 then value else step end as delta, step < 0 as is_reset
from counted where step <> 0 and elapsed_us > 0
"""
_SERIES = """
insert into error_series by name
with sums as (
    select series, sum(delta) as events, count(*) as active, coalesce(sum(delta) filter (is_reset), 0) as reset_events, median(elapsed_us) as step_us
    from steps group by series
)
select series, node, interface, counter, 'nvlink' as link_type, error_class, class_basis, samples, samples - 1 as timed_samples,
    (last_us - first_us) / 1e6 as exposure_s, coalesce(step_us, (last_us - first_us) / (samples - 1)) / 1e6 as step_s,
    coalesce(events, 0) as events, coalesce(active, 0) as active_samples, coalesce(reset_events, 0) as reset_events, samples as measured,
    high as last_value, coalesce(reset_events, 0) > 0 as had_reset, make_timestamptz(first_us) as first_ts, make_timestamptz(last_us) as last_ts
from extremes join names using (series) join counter_catalogue using (counter) left join sums using (series)
"""
_INCREMENTS = """
insert into error_increments by name
select series, sample, make_timestamptz(ts_us) as ts, elapsed_us / 1e6 as elapsed_s, delta, case when is_reset then 'reset' else 'ok' end as quality
from steps where delta > 0
"""


def count(con: Any) -> None:
    """Fill the two tables of the spike stage from `readings` and `names`."""
    create_empty(con)
    for statement in (_EXTREMES, _STEPS, _SERIES, _INCREMENTS):
        con.execute(statement)


def lag_pass(con: Any) -> None:
    """The floor: what DuckDB needs for one `lag` over all rows and nothing else."""
    con.execute(
        "select sum(step) from (select value - lag(value) over (partition by series order by ts_us) as step from readings)"
    ).fetchall()


def _open(folder: Path, threads: int, memory: str) -> Any:
    con = connect()
    con.execute(f"set threads = {threads}")
    con.execute(f"set memory_limit = '{memory}'")
    con.execute(f"set temp_directory = {literal(tempfile.mkdtemp())}")
    con.execute("set preserve_insertion_order = false")
    con.execute(
        f"create view readings as from read_parquet({literal(str(folder / 'readings-*.parquet'))})"
    )
    con.execute(f"create view names as from {literal(str(folder / 'series.parquet'))}")
    con.execute(f"create temp table counter_catalogue as {catalogue_sql()}")
    return con


def _peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> int:
    """Generate, run both, print; exit code 1 when a planted burst was not found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ends", type=int, default=34_722, help="link ends")
    parser.add_argument("--counters", type=int, default=12, choices=range(1, len(COUNTERS) + 1))
    parser.add_argument("--samples", type=int, default=240, help="samples of each series")
    parser.add_argument("--noisy", type=float, default=0.05, help="share of noisy series")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory", default="3GB", help="memory limit of DuckDB")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "fabric_bench")
    parser.add_argument("--no-floor", action="store_true", help="skip the plain pass")
    args = parser.parse_args()
    size = Size(args.ends, args.counters, args.samples, args.noisy)
    folder = args.folder / size.name
    if not folder.exists():
        generate(size, folder)
    con = _open(folder, args.threads, args.memory)
    started = time.perf_counter()
    count(con)
    counted = time.perf_counter()
    spikes = detect_from_series(con)
    total = time.perf_counter() - started
    out = sys.stdout.write
    active = con.execute("select count(*) from error_increments").fetchall()[0][0]
    out(f"{size.readings:,} readings of {size.series:,} series, {active:,} increments\n")
    out(
        f"counting {counted - started:.2f} s, spikes {total - (counted - started):.2f} s, together {total:.2f} s\n"
    )
    out(f"{size.readings / total / 1e6:.1f} M samples/s, peak RSS {_peak_gb():.2f} GB\n")
    con.close()
    planted = len(range(77, size.series, _PLANTED_EVERY))
    found = sum(any(2900 < events < 3100 for *_, events in spike.bursts) for spike in spikes)
    out(f"{found} of {planted} planted bursts found, {len(spikes)} rows\n")
    if not args.no_floor:
        con = _open(folder, args.threads, args.memory)
        started = time.perf_counter()
        lag_pass(con)
        floor = time.perf_counter() - started
        out(f"floor (one lag pass) {floor:.2f} s, ratio {total / floor:.2f}\n")
    return 0 if found == planted else 1


if __name__ == "__main__":
    sys.exit(main())
