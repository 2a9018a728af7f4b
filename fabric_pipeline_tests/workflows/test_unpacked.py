"""Archives as drops, in drops and given to inspect: one reading, whole accounts, evidence that is found again."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import tarfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fabric_pipeline.errors import BadInputError
from fabric_pipeline.settings import Settings
from fabric_pipeline.sources.archives.limits import LIMITS
from fabric_pipeline.sources.drop import Drop, list_drop, loose_files, sha256_of
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.accounting import reading_account
from fabric_pipeline.workflows.dossier_build import build_dossier
from fabric_pipeline.workflows.dossier_check import check_dossier
from fabric_pipeline.workflows.dossier_excerpts import excerpt_name, read_excerpt
from fabric_pipeline.workflows.inbox import claim
from fabric_pipeline.workflows.ingest_report import load_report
from fabric_pipeline.workflows.inspect import inspect
from fabric_pipeline.workflows.unpacked import find_inside, with_archives
from fabric_pipeline_tests.sources.archives.packing import PACKERS, member, tarred, zipped
from fabric_pipeline_tests.workflows.dossier_drops import NODES, START, process, write_drop
from fabric_pipeline_tests.workflows.readout import read_drop, read_files, write

NOW = datetime(2031, 6, 1, tzinfo=UTC)
COUNTERS = b"ts,node,gpu,link_type,link,replay\n2031-01-02T03:04:05Z,,1,nvlink,gpu1/nvlink-4,%d\n"
ROW = COUNTERS % 5
YAML = b"timezone: Europe/Berlin\nfiles:\n  'c/*.csv': {node: from-yaml-1}\n"


def nodes(files: dict[str, bytes], tmp_path: Path) -> dict[str, str]:
    """Host that each file of a drop was read as."""
    found = read_files(tmp_path, files)
    assert found.balances
    return {str(row["file"]): str(row["node"]) for row in found.rows("link_counters")}


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_an_archive_is_read_like_the_folder_that_was_packed(tmp_path: Path, kind: str) -> None:
    files = {"host-3/a.csv": ROW, "host-4/b.csv": ROW, "host-4/words.txt": b"no format\n"}
    read = read_files(tmp_path / "in", {f"all.{kind}": PACKERS[kind](files)})
    plain = read_files(tmp_path / "plain", dict(files))
    assert read.balances
    for name in files:
        inner = f"all.{kind}!{name}"
        mine, theirs = read.report(inner), plain.report(name)
        assert replace(mine, name="") == replace(theirs, name="")
        assert [r["value"] for r in read.accepted(inner)] == [
            r["value"] for r in plain.accepted(name)
        ]
        assert [r["node"] for r in read.accepted(inner)] == [
            r["node"] for r in plain.accepted(name)
        ]
    archive = read.report(f"all.{kind}")
    assert (archive.format, archive.problem) == (f"archive_{kind.replace('.', '_')}", "")
    assert read.read.facts[archive.name] == {"archive": kind, "files_in_it": 3}


def test_hosts_by_folders_and_by_names_of_archives(tmp_path: Path) -> None:
    found = nodes(
        {
            "a.zip": zipped({"bundle/host-3/sys/a.csv": ROW, "bundle/rack-2/b.csv": ROW}),
            "node-07.tgz": gzip.compress(tarred({"a.csv": ROW, "host-9/b.csv": ROW})),
            "host-5/late.zip": zipped({"logs/a.csv": ROW}),
            "support-bundle-3.zip": zipped({"a.csv": ROW}),
            "many.zip": zipped({"in/calc-1.tar": tarred({"x/a.csv": ROW}), "b.csv": ROW}),
        },
        tmp_path,
    )
    assert found == {
        "a.zip!bundle/host-3/sys/a.csv": "host-3",
        "a.zip!bundle/rack-2/b.csv": "",
        "node-07.tgz!a.csv": "node-07",
        "node-07.tgz!host-9/b.csv": "host-9",
        "host-5/late.zip!logs/a.csv": "host-5",
        "support-bundle-3.zip!a.csv": "",
        "many.zip!in/calc-1.tar!x/a.csv": "calc-1",
        "many.zip!b.csv": "",
    }


@pytest.mark.parametrize("top", ["", "my drop/"])
def test_a_description_in_an_archive_that_is_the_drop_counts(tmp_path: Path, top: str) -> None:
    local = ROW.replace(b"05Z", b"05")
    path = tmp_path / "drop.zip"
    path.write_bytes(
        zipped({f"{top}drop.yaml": YAML, f"{top}c/a.csv": local, f"{top}b.csv": local})
    )
    found = read_drop(path, NOW)
    (row,) = found.accepted(f"drop.zip!{top}c/a.csv")
    assert (row["node"], row["ts"].astimezone(UTC).hour) == ("from-yaml-1", 2)
    assert found.read.problems == []
    path.write_bytes(zipped({"drop.yaml": b"timezone: [", "a.csv": ROW}))
    with pytest.raises(BadInputError, match=r"drop\.yaml line 1: not readable as YAML"):
        read_drop(path, NOW)


def test_a_description_among_other_files_is_named_and_does_not_count(tmp_path: Path) -> None:
    files = {"a.zip": zipped({"drop.yaml": YAML, "c/a.csv": ROW}), "b.csv": ROW}
    found = read_files(tmp_path, files)
    assert [row["node"] for row in found.accepted("a.zip!c/a.csv")] == [""]
    assert found.read.problems == [
        "a.zip!drop.yaml: describes its folder only when the archive is given alone"
    ]


def test_every_refusal_is_told_and_accounted_for(tmp_path: Path) -> None:
    files = {
        "a.zip": zipped({"../x": b"1", "ok.csv": ROW, "in.zip": b"PK\x03\x04 no zip"}),
        "cut.tar": tarred({"ok.csv": ROW, "late.csv": ROW})[: 512 * 3 + 50],
        "empty.tgz": gzip.compress(tarred({}, member("d", tarfile.DIRTYPE))),
        "ok.csv": ROW,
        "a.zip!ok.csv": ROW,
    }
    found = read_files(tmp_path, files, is_checked=True)
    told = {report.name: report.problem for report in found.read.files if report.problem}
    assert set(told) == {
        "a.zip!../x",
        "a.zip!in.zip",
        "a.zip!ok.csv #2",
        "cut.tar",
        "cut.tar!late.csv",
        "empty.tgz",
    }
    assert "leads out of the archive" in told["a.zip!../x"]
    assert "this very name" in told["a.zip!ok.csv #2"]
    assert {str(row["file"]) for row in found.rows("quarantined_telemetry")} == set(told)
    assert {str(row["file"]) for row in found.rows("link_counters")} == {
        "cut.tar!ok.csv",
        "ok.csv",
        "a.zip!ok.csv",
    }
    assert found.balances
    assert found.violations == []


def test_gzipped_traces_stay_as_they_are(tmp_path: Path) -> None:
    event = {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum", "ts": 5, "dur": 7}
    trace = gzip.compress(json.dumps({"schemaVersion": 1, "traceEvents": [event]}).encode())
    found = read_files(tmp_path, {"t.json.gz": trace, "a.zip": zipped({"t.json.gz": trace})})
    for name in ("t.json.gz", "a.zip!t.json.gz"):
        assert (found.report(name).format, found.report(name).readings) == ("kineto_trace", 1)


def test_a_pickle_that_would_run_something_is_told_as_a_problem(tmp_path: Path) -> None:
    hostile = b"\x80\x02}(X\x09\x00\x00\x00pg_configX\x09\x00\x00\x00pg_statuscos\nsystem\n."
    found = read_files(
        tmp_path, {"a.zip": zipped({"nccl_trace_rank_0": hostile, "model.pkl": hostile[:4]})}
    )
    assert "refused and not run" in found.report("a.zip!nccl_trace_rank_0").problem
    assert "no flight-recorder dump" in found.report("a.zip!model.pkl").problem
    assert len(found.rows("quarantined_telemetry")) == 2


def test_the_same_bytes_are_the_same_drop_and_are_unpacked_once(tmp_path: Path) -> None:
    settings = Settings(root=tmp_path, home=tmp_path / "home")
    ledger = Ledger(settings.ledger)
    data = gzip.compress(tarred({"a.csv": ROW}), mtime=0)
    write(tmp_path, {"host-3.tar.gz": data, "again/host-3.tar.gz": data})
    first = claim(ledger, tmp_path / "host-3.tar.gz", START)
    second = claim(ledger, tmp_path / "again/host-3.tar.gz", START)
    assert (first.drop_id, second.state) == ("host-3", "duplicate_of")
    drop = list_drop(tmp_path / "host-3.tar.gz")
    opened = with_archives(drop, settings.unpacked)
    assert opened.content_sha256 == drop.content_sha256 == first.content_sha256
    (inner,) = opened.data_files()
    assert inner.sha256 == sha256_of(inner.path)
    before = inner.path.stat().st_ino
    assert with_archives(drop, settings.unpacked).data_files()[0].path.stat().st_ino == before
    inner.path.write_bytes(b"something else")  # a file that was altered is made again
    assert with_archives(drop, settings.unpacked).data_files()[0].path.read_bytes() == ROW
    assert {path.name for path in settings.unpacked.iterdir()} == {".lock", drop.files[0].sha256}


def test_a_full_disk_is_told_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop = list_drop(write(tmp_path / "drop", {"a.zip": zipped({"a.csv": ROW})}))
    late = replace(LIMITS, seconds=-1.0)
    (stamp,) = with_archives(drop, tmp_path / "kept", late).stamps()
    assert "longer than" in stamp.problem
    assert [path.name for path in (tmp_path / "kept").iterdir()] == [".lock"]
    assert len(with_archives(drop, tmp_path / "kept").data_files()) == 1


def test_inspect_names_the_entry_and_leaves_nothing_behind(tmp_path: Path) -> None:
    log = "[Mon Nov 30 10:00:0%d 2026] NVRM: Xid (PCI:0000:3b:00): 74, pid=1, NVLink: fatal error detected on link 2\n"
    data = zipped({"host-3/dmesg.log": "".join(log % n for n in range(3)).encode()})
    path = write(tmp_path, {"a.zip": data}) / "a.zip"
    answer = inspect([path], NOW)
    assert [one["path"] for one in answer["inputs"]] == [str(path), f"{path}!host-3/dmesg.log"]
    assert answer["facts"]["files"][str(path)] == {"archive": "zip", "files_in_it": 1}
    cited = {one["path"] for finding in answer["findings"] for one in finding["evidence"]}
    assert cited == {f"{path}!host-3/dmesg.log"}
    assert {finding["component"].split(":")[0] for finding in answer["findings"]} == {"host-3"}
    assert [one.name for one in tmp_path.iterdir()] == ["a.zip"]


def test_dossiers_of_a_drop_in_an_archive_build_and_verify(tmp_path: Path) -> None:
    write_drop(tmp_path / "plain", NODES)
    files = {p.name: p.read_bytes() for p in (tmp_path / "plain").iterdir()}
    drop = (
        write(tmp_path / "drops", {"tiny.tgz": gzip.compress(tarred({"in.zip": zipped(files)}))})
        / "tiny.tgz"
    )
    settings = Settings(root=tmp_path, home=tmp_path / "home")
    ledger = Ledger(settings.ledger)
    (record,) = [one for one in process(drop, settings, ledger) if one.needs_ticket]
    prefix = "tiny.tgz!in.zip!"
    assert {ref.file for ref in record.evidence} == {
        f"{prefix}counters.csv",
        f"{prefix}collectives.csv",
    }
    hashes = {f"{prefix}{p.name}": sha256_of(p) for p in (tmp_path / "plain").iterdir()}
    assert all(ref.sha256 == hashes[ref.file] and ref.line for ref in record.evidence)
    account = reading_account(settings, record.drop)
    assert account.balances
    assert account.read > 400
    assert all(not report.problem for report in load_report(settings, record.drop).files)

    shutil.rmtree(settings.unpacked)  # evidence is unpacked again when it is looked for
    dossier = build_dossier(settings, ledger, record, START)
    for file in {ref.file for ref in record.evidence}:
        excerpt = read_excerpt(dossier.path / "data/excerpts" / excerpt_name(file))
        assert (excerpt.state, excerpt.sha256) == ("unchanged", hashes[file])
        assert excerpt.lines[1] == files[file.removeprefix(prefix)].decode().split("\n")[0].rstrip(
            "\r"
        )
    checked = check_dossier(dossier.path)
    assert checked.problems == []
    assert any("read again give the recorded rows" in one for one in checked.rerun)


def test_evidence_of_an_archive_that_was_exchanged(tmp_path: Path) -> None:
    drop = write(tmp_path / "drop", {"a.zip": zipped({"a.csv": ROW}), "b!c.csv": ROW})
    found = find_inside(drop, "a.zip!a.csv", tmp_path / "kept")
    assert found is not None
    assert found.read_bytes() == ROW
    assert find_inside(drop, "a.zip!b.csv", tmp_path / "kept") is None
    assert find_inside(drop, "../drop/a.zip!x!a.csv", tmp_path / "kept") is None
    write(drop, {"a.zip": zipped({"a.csv": COUNTERS % 77})})
    found = find_inside(drop, "a.zip!a.csv", tmp_path / "kept")
    assert found is not None
    assert found.read_bytes() == COUNTERS % 77


def test_loose_archives_keep_the_names_they_were_given(tmp_path: Path) -> None:
    write(tmp_path, {"x/a.zip": zipped({"host-1/a.csv": ROW}), "b.csv": ROW})
    drop: Drop = loose_files([tmp_path / "x/a.zip", tmp_path / "b.csv"])
    names = [stamp.name for stamp in with_archives(drop, tmp_path / "kept").stamps()]
    assert names == [f"{tmp_path}/x/a.zip", f"{tmp_path}/x/a.zip!host-1/a.csv", f"{tmp_path}/b.csv"]


def test_many_hostile_entries_end_in_a_table_soon(tmp_path: Path) -> None:
    data = zipped({f"../{n}": b"" for n in range(800)})
    found = read_files(tmp_path, {"a.zip": data})
    assert len(found.rows("quarantined_telemetry")) == 800
    assert all(re.match(r"a\.zip!\.\./\d+$", str(r["file"])) for r in found.rows("raw_telemetry"))
