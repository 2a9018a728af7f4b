"""`inspect`: the shape of the contract for any input, several captures in order, folders, what is unknown."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric_pipeline.errors import BadInputError
from fabric_pipeline.model.findings import ROLES, SEVERITIES, VERDICTS
from fabric_pipeline.sources.registry import UNKNOWN_FORMAT, reader_targets
from fabric_pipeline.workflows.inspect import inspect
from fabric_pipeline_tests.small_drop import BAD_LINKS
from fabric_pipeline_tests.sources.damage import damaged, junk, specimens
from fabric_pipeline_tests.workflows.readout import READ_AT, write

HEAD = "ts,node,gpu,link_type,link,replay\n"
FORMATS = {*reader_targets(), UNKNOWN_FORMAT}


def inspected(paths: list[Path]) -> dict[str, Any]:
    """The answer, after it was seen to hold the contract."""
    answer = inspect(paths, READ_AT)
    text = json.dumps(answer, ensure_ascii=False, allow_nan=False)
    assert json.loads(text.encode()) == answer
    _holds(answer)
    return answer


def _holds(answer: dict[str, Any]) -> None:
    assert set(answer) == {"inputs", "verdict", "findings", "unknown", "facts"}
    for one in answer["inputs"]:
        assert set(one) == {"path", "format", "readings", "rejected_lines"}
        assert one["format"] in FORMATS
        assert min(one["readings"], one["rejected_lines"]) >= 0
        assert one["format"] != UNKNOWN_FORMAT or (one["readings"], one["rejected_lines"]) == (0, 0)
    shown = [one["path"] for one in answer["inputs"]]
    assert len(shown) == len(set(shown))
    assert answer["verdict"] in VERDICTS
    causes = [_accuses(finding, set(shown)) for finding in answer["findings"]]
    assert any(causes) or answer["verdict"] != "faulty"
    assert not any(causes) or answer["verdict"] not in ("healthy", "no_data")
    assert sum(one["readings"] for one in answer["inputs"]) > 0 or answer["verdict"] == "no_data"
    for one in answer["unknown"]:
        assert set(one) == {"component", "what", "reason"}
        assert ":" in one["component"]
        assert one["what"].strip()
        assert one["reason"].strip()


def _accuses(finding: dict[str, Any], paths: set[str]) -> bool:
    """True for a cause that accuses; every finding is looked at."""
    assert {"component", "kind", "severity", "role", "reason", "evidence"} <= set(finding)
    assert finding["severity"] in SEVERITIES
    assert finding["role"] in ROLES
    assert ":" in finding["component"]
    assert finding["reason"].strip()
    for one in finding["evidence"]:
        assert one["path"] in paths
        lines = Path(one["path"]).read_bytes().count(b"\n") + 1 if one["line"] else 0
        assert one["line"] is None or 1 <= one["line"] <= lines
    accuses = finding["role"] == "cause" and finding["severity"] in ("warning", "critical")
    assert finding["evidence"] or not accuses
    return accuses


texts = st.text(max_size=300) | st.lists(
    st.sampled_from(["GPU 0:", "Link 1:", "{", "}", "[", '"node":', "NVRM: Xid", "79", "\n", "\t", "#", ",", "eth0", "0x1"]),
    max_size=60,
).map(" ".join)  # fmt: skip
contents = st.binary(max_size=300) | texts.map(lambda text: text.encode("utf-8", "surrogatepass"))


@given(st.lists(contents, min_size=1, max_size=4))
@settings(max_examples=8)
def test_any_content_has_the_shape_and_is_never_healthy_unmeasured(files: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}.dat" for number in range(len(files))]
        for path, content in zip(paths, files, strict=True):
            path.write_bytes(content)
        answer = inspected(paths)
        assert [one["path"] for one in answer["inputs"]] == [str(path) for path in paths]


def test_junk_says_nothing(tmp_path: Path) -> None:
    paths = [tmp_path / f"{seed}.txt" for seed in range(40)]
    for seed, path in enumerate(paths):
        path.write_bytes(junk(seed))
    answer = inspected(paths)
    assert answer["verdict"] == "no_data"
    assert answer["findings"] == []
    assert len(answer["facts"]["problems"]) >= 30


def test_valid_and_damaged_files_of_all_formats_together(tmp_path: Path) -> None:
    known = specimens()
    whole = write(tmp_path / "whole", {f"{name}.txt": data for name, data in known.items()})
    answer = inspected([whole / f"{name}.txt" for name in known])
    assert {one["format"] for one in answer["inputs"]} == {name.partition(".")[0] for name in known}
    silent = {Path(one["path"]).stem for one in answer["inputs"] if one["readings"] == 0}
    assert silent - SILENT == set()
    bad = {f"{seed}.txt": damaged(seed, known)[1] for seed in range(70)}
    inspected([write(tmp_path / "bad", bad) / name for name in bad])


# Formats that describe a system or a job and hold no reading of a link.
SILENT = {
    "dcgmi_discovery", "dcgmi_topo_json", "fabric_topology", "ibdiagnet2_cables", "ibswitches", "ibswinfo", "job_meta_yaml", "lspci_list",
    "nccl_graph_xml", "nccl_inspector_exporter_log", "nvidia_smi_nvlink_capabilities", "nvidia_smi_nvlink_info", "nvidia_smi_nvlink_remote",
    "netbox_csv", "nvidia_smi_topo_matrix", "slurm_topology", "superbench_diagnosis_jsonl",
}  # fmt: skip


def test_several_captures_are_taken_in_the_order_given(tmp_path: Path) -> None:
    capture = "GPU 2: Some Card (UUID: GPU-1)\n\t Link 3: Replay Errors: {}\n\t Link 4: Replay Errors: 0\n"
    files = {"later.txt": capture.format(90_000), "first.txt": capture.format(10)}
    write(tmp_path, files)
    grown = inspected([tmp_path / "first.txt", tmp_path / "later.txt"])
    assert [Path(one["path"]).name for one in grown["inputs"]] == ["first.txt", "later.txt"]
    (finding,) = [one for one in grown["findings"] if one["role"] == "cause"]
    assert finding["component"] == "unknown:gpu2/nvlink-3"
    assert {"path": str(tmp_path / "later.txt"), "line": 2} in finding["evidence"]
    again = inspected([tmp_path / "first.txt", tmp_path / "later.txt", tmp_path / "first.txt"])
    assert again == grown


def test_a_folder_is_read_with_its_description(small_drop: Path) -> None:
    answer = inspect([small_drop], READ_AT)
    assert answer["verdict"] == "faulty"
    causes = {one["component"] for one in answer["findings"] if one["role"] == "cause"}
    assert set(BAD_LINKS) <= causes
    assert "drop.yaml" not in {one["path"] for one in answer["inputs"]}
    assert all(
        one["path"] in {i["path"] for i in answer["inputs"]}
        for f in answer["findings"]
        for one in f["evidence"]
    )


def test_a_folder_whose_description_is_wrong_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"drop.yaml": "timezone: Nowhere", "counters.csv": HEAD})
    with pytest.raises(BadInputError, match=r"drop.yaml line 1: timezone 'Nowhere' is not known"):
        inspect([tmp_path], READ_AT)
    with pytest.raises(BadInputError, match="no such file or folder"):
        inspect([tmp_path / "missing"], READ_AT)


def test_folders_among_other_paths(tmp_path: Path) -> None:
    write(tmp_path, {"a/drop.yaml": "site: x", "a/c.csv": HEAD, "b.txt": "nothing of ours"})
    answer = inspected([tmp_path / "a", tmp_path / "b.txt"])
    assert [one["format"] for one in answer["inputs"]] == ["fabric_counters", UNKNOWN_FORMAT]
    problems = answer["facts"]["problems"]
    assert problems[0].startswith(f"{tmp_path}/a/drop.yaml: describes its folder only when")
    assert problems[1].startswith(f"{tmp_path}/b.txt: no reader knows this format")


@pytest.mark.parametrize(
    "content", ["", HEAD, HEAD + "2026-11-20T07:00:00Z,n1,0,nvlink,gpu0/nvlink-1,N/A\n"]
)
def test_nothing_measured_is_no_data(tmp_path: Path, content: str) -> None:
    write(tmp_path, {"counters.csv": content})
    answer = inspected([tmp_path / "counters.csv"])
    assert (answer["verdict"], answer["findings"]) == ("no_data", [])


def test_blanks_are_listed_as_unknown(tmp_path: Path) -> None:
    rows = ["1,N/A", "1,5", "2,9223372036854775794", "3,0", "4,-1"]
    row = "2026-11-20T07:00:{:02}Z,n1,0,nvlink,gpu0/nvlink-{}\n"
    text = HEAD + "".join(row.format(second, one) for second, one in enumerate(rows))
    errors = "GPU 6: Some Card\n\t Link 0: Replay Errors: N/A\n\t Link 1: Replay Errors: 0\n"
    write(tmp_path, {"counters.csv": text, "errors.txt": errors})
    answer = inspected([tmp_path / "counters.csv", tmp_path / "errors.txt"])
    listed = {one["component"]: one["what"] for one in answer["unknown"]}
    assert listed == {"n1:gpu0/nvlink-2": "replay", "unknown:gpu6/nvlink-0": "replay"}
    (refused,) = answer["facts"]["refused_lines"].values()
    assert refused == ["line 6: a counter or state cannot be negative: -1 [n1 0 gpu0/nvlink-4]"]
    assert answer["verdict"] == "healthy"


def test_only_a_few_refused_lines_are_repeated(tmp_path: Path) -> None:
    write(tmp_path, {"counters.csv": HEAD + "x\n" * 500})
    answer = inspected([tmp_path / "counters.csv"])
    assert answer["inputs"][0]["rejected_lines"] == 500
    (refused,) = answer["facts"]["refused_lines"].values()
    assert len(refused) == 20
    assert refused[0] == "line 2: row has 1 fields, the header has 6 [x]"


def test_names_that_json_cannot_hold(tmp_path: Path) -> None:
    case = {"node_id": "n", "fabric_interface": "nvlink-3", "crc_error_count": 48_000}
    text = json.dumps(case | {"allreduce_latency_us": 14_000, "baseline_latency_us": 850})
    write(tmp_path, {"case.json": text.replace('"n"', '"n\\ud800"')})
    answer = inspected([tmp_path / "case.json"])
    assert [one["component"] for one in answer["findings"]] == ["n\ufffd:nvlink-3"]


def test_a_clock_that_runs_ahead_is_told(tmp_path: Path) -> None:
    file = tmp_path / "counters.csv"
    file.write_text(
        "ts,node,gpu,link_type,link,counter,value\n"
        "2199-01-02T03:04:05Z,n4,0,nvlink,nvlink-1,crc_flit,4\n",
        encoding="utf-8",
    )
    answer = inspect([file], READ_AT)
    (told,) = [one for one in answer["unknown"] if one["what"] == "time of the counters"]
    assert told["component"] == "n4:unknown"
    assert "2199-01-02 03:04:05 UTC, ahead of the moment of reading" in told["reason"]
