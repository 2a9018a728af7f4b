"""Sessions of the shared engine: apart from each other, after a broken engine, and in a forked process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from fabric_pipeline.store import duck, lake
from fabric_pipeline.store.duck import connect, machine_bytes, scalar, session

FORKED = """
import os
from fabric_pipeline.store.duck import scalar, session
con = session()
assert scalar(con, "select sum(i) from range(100000) t(i)") == 4999950000
child = os.fork()
if not child:
    os._exit(0 if scalar(session(), "select sum(i) from range(100000) t(i)") == 4999950000 else 3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


@pytest.mark.parametrize("opened", [connect, session])
def test_texts_times_and_names_are_read_alike(opened: Callable[[], Any]) -> None:
    readings = [1]
    with closing(opened()) as con:
        assert scalar(con, "select '2031-03-04 06:00:00+02'::timestamptz::varchar").endswith("+00")
        assert str(scalar(con, "select current_setting('TimeZone')")) == "UTC"
        with pytest.raises(duckdb.CatalogException, match="readings"):
            con.execute("select * from readings")
    assert readings == [1]


def test_what_one_session_made_no_other_sees(tmp_path: Path) -> None:
    with closing(session()) as one, closing(session()) as other:
        for con, value in ((one, 1), (other, 2)):
            con.execute(f"create temp table wanted as select {value} as n")
            lake.write_table(con, "wanted", tmp_path, "counters", f"drop-{value}")
            assert lake.attach(con, tmp_path, "counters", f"drop-{value}")
            assert lake.attach_all(con, tmp_path, "counters", as_name=f"all_{value}")
        assert [scalar(con, "select n from counters") for con in (one, other)] == [1, 2]
        with pytest.raises(duckdb.CatalogException):
            other.execute("select * from all_1")
    with closing(session()) as one, closing(session()) as other:
        one.execute("set TimeZone = 'Asia/Tokyo'")
        assert scalar(other, "select current_setting('TimeZone')") == "UTC"
    with closing(session()) as later:
        assert scalar(later, "select count(*) from duckdb_tables()") == 0
        assert scalar(later, "select count(*) from duckdb_views() where not internal") == 0


def test_many_threads_ask_at_once() -> None:
    def ask(number: int) -> int:
        with closing(session()) as con:
            con.execute(f"create temp table mine as select {number} as n from range(1000)")
            return int(scalar(con, "select sum(n) from mine"))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(40))) == [1000 * number for number in range(40)]


def test_an_engine_that_broke_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = connect()
    broken.close()
    monkeypatch.setattr(duck, "_engine", broken)
    with closing(session()) as con:
        assert scalar(con, "select 1") == 1


def test_a_forked_process_has_an_engine_of_its_own() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


SPILLED = """
import sys
from pathlib import Path
from fabric_pipeline.store.duck import scalar, session
con = session()
folder = Path(scalar(con, "select current_setting('temp_directory')"))
assert folder.stat().st_mode & 0o777 == 0o700
con.execute("create temp table wide as select i, i::varchar || repeat('x', 60) as name from range(3000000) t(i) order by hash(i)")
assert scalar(con, "select sum(i) from wide") == 4499998500000
assert any(folder.rglob("*.tmp")), "nothing was laid aside"
print(folder)
"""


def test_what_does_not_fit_is_laid_aside_and_removed() -> None:
    env = os.environ | {"FABRIC_MEMORY_LIMIT": "200MB"}
    done = subprocess.run(
        [sys.executable, "-c", SPILLED], capture_output=True, text=True, timeout=120, env=env
    )
    assert done.returncode == 0, done.stderr
    assert not Path(done.stdout.strip()).exists()


def test_an_engine_keeps_to_the_limit_that_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABRIC_MEMORY_LIMIT", "300MiB")
    with closing(connect()) as con:
        assert scalar(con, "select current_setting('memory_limit')") == "300.0 MiB"
    monkeypatch.setenv("FABRIC_MEMORY_LIMIT", "9999999GB")
    with closing(connect()) as con:
        (size,) = con.execute("select memory_limit from pragma_database_size() limit 1").fetchall()[
            0
        ]
    number, unit = size.split()
    assert float(number) * 1024 ** (1 + ["KiB", "MiB", "GiB", "TiB"].index(unit)) == pytest.approx(
        0.6 * machine_bytes(), rel=0.06
    )


def test_a_spill_folder_that_was_swept_away_is_made_anew() -> None:
    with closing(connect()) as con:
        first = Path(str(scalar(con, "select current_setting('temp_directory')")))
    first.rmdir()
    with closing(connect()) as con:
        second = Path(str(scalar(con, "select current_setting('temp_directory')")))
    assert second.is_dir()
    assert second != first
