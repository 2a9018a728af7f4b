"""Signing dossiers, checking them in a fresh process, and that standard tools accept them throughout."""

from __future__ import annotations

import hashlib
import importlib
import json
import shutil
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import pytest

from fabric_pipeline.errors import BadInputError, FabricError, NotFoundError, UsageError
from fabric_pipeline.workflows import dossier_verify
from fabric_pipeline.workflows.dossier_build import build_dossier
from fabric_pipeline.workflows.dossier_check import check_dossier
from fabric_pipeline.workflows.dossier_sign import NAMESPACE, check_signature, sign_dossier
from fabric_pipeline.workflows.dossier_vendor import bundle
from fabric_pipeline.workflows.dossier_verify import verify_dossier
from fabric_pipeline_tests.store.fakes import draft
from fabric_pipeline_tests.workflows.dossier_drops import START, World, make_world, rehash

SIGNATURE = "tagmanifest-sha256.txt.sig"


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two throw-away keys, and a file of allowed signers for each."""
    folder = tmp_path_factory.mktemp("keys")
    for name in ("desk", "other"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", folder / name]
        subprocess.run(command, check=True)
        public = (folder / f"{name}.pub").read_text()
        (folder / f"{name}.signers").write_text(f"evidence-{name} {public}")
    return folder


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    world = make_world(tmp_path_factory.mktemp("world"))
    record = world.accused
    ticket = draft(drop="tiny", incident_id=record.incident_id, node="=cmd()|calc")
    world.ledger.record_draft(ticket, START)
    return world


@pytest.fixture(scope="module")
def built(world: World) -> Path:
    return build_dossier(world.settings, world.ledger, world.accused, START).path


@pytest.fixture
def bag(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / built.name))


def accepted(bag: Path, *, by_its_command: bool = False) -> None:
    """By sha256sum, by the bagit library and by its command, none of which is ours."""
    for manifest in ("manifest-sha256.txt", "tagmanifest-sha256.txt"):
        command = ["sha256sum", "--strict", "--quiet", "-c", manifest]
        assert subprocess.run(command, cwd=bag, capture_output=True).returncode == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it still asks setuptools for its version
        library = importlib.import_module("bagit")
        assert library.Bag(str(bag)).validate() is True
    if by_its_command:
        quiet = [sys.executable, "-W", "ignore", "-m", "bagit", "--validate", bag]
        command_says = subprocess.run(quiet, capture_output=True)
        assert command_says.returncode == 0, command_says.stderr


def test_standard_tools_accept_a_dossier_before_and_after_signing(bag: Path, keys: Path) -> None:
    accepted(bag)
    assert check_signature(bag, None).says == "it bears no signature"
    assert sign_dossier(bag, keys / "desk") == bag / SIGNATURE
    accepted(bag, by_its_command=True)
    assert check_signature(bag, None).problem == ""
    assert check_signature(bag, keys / "desk.signers").says == "signed by evidence-desk"
    assert check_signature(bag, keys / "desk.signers", "evidence-desk").problem == ""
    assert check_signature(bag, keys / "other.signers").problem
    assert check_signature(bag, keys / "desk.signers", "evidence-other").problem


def test_the_check_without_our_software_works_as_printed(bag: Path, keys: Path) -> None:
    sign_dossier(bag, keys / "desk")
    lines = (bag / "data" / "README.txt").read_text().splitlines()
    start = next(n for n, line in enumerate(lines) if "ssh-keygen -Y verify" in line)
    command = "\n".join(lines[start : start + 2]).replace("NAME", "evidence-desk")
    command = command.replace("ALLOWED_SIGNERS", str(keys / "desk.signers"))
    assert NAMESPACE in command
    good = subprocess.run(["bash", "-c", command], cwd=bag, capture_output=True)
    assert good.returncode == 0, good.stderr
    (bag / "tagmanifest-sha256.txt").write_text("0")
    assert subprocess.run(["bash", "-c", command], cwd=bag, capture_output=True).returncode != 0


def test_a_dossier_made_anew_does_not_bear_the_signature(bag: Path, keys: Path) -> None:
    sign_dossier(bag, keys / "desk")
    (bag / "data" / "figure.svg").write_text("<svg/>")
    rehash(bag)
    accepted(bag)
    says = "the signature does not fit the dossier"
    assert check_signature(bag, None).problem == says
    assert check_signature(bag, keys / "desk.signers").problem
    (bag / SIGNATURE).write_text(
        "-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n"
    )
    assert check_signature(bag, None).problem == says


def test_what_cannot_be_signed_says_so_and_names_no_key(
    bag: Path, keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "no-such-secret-key"
    with pytest.raises(FabricError, match="key file is not there") as missing:
        sign_dossier(bag, secret)
    secret.write_text("no key at all")
    with pytest.raises(FabricError, match="did not sign") as refused:
        sign_dossier(bag, secret)
    assert "secret" not in f"{missing.value}{refused.value}"
    (bag / "data" / "README.txt").write_text("spoilt")
    with pytest.raises(BadInputError, match="is not signed"):
        sign_dossier(bag, keys / "desk")
    assert not (bag / SIGNATURE).exists()
    (bag / SIGNATURE).write_text("x")
    with pytest.raises(FabricError, match="allowed signers is not there"):
        check_signature(bag, tmp_path / "none")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "ssh-keygen is not installed" in check_signature(bag, None).says
    with pytest.raises(FabricError, match="ssh-keygen is not installed"):
        check_signature(bag, keys / "desk.signers")


def test_a_rebuild_over_the_same_facts_keeps_the_signature(world: World, keys: Path) -> None:
    made = build_dossier(world.settings, world.ledger, world.accused, START, run_id="run-1")
    sign_dossier(made.path, keys / "desk")
    signed = (made.path / SIGNATURE).read_bytes()
    same = build_dossier(world.settings, world.ledger, world.accused, START, run_id="run-2")
    assert not same.lost_signature
    assert (same.path / SIGNATURE).read_bytes() == signed
    other = draft("TKT-00000000000c", incident_id="INC-00000000000c", drop="x")
    world.ledger.record_draft(other, START)
    changed = build_dossier(world.settings, world.ledger, world.accused, START)
    assert changed.lost_signature
    assert not (changed.path / SIGNATURE).exists()


def test_verify_has_the_dossier_alone(
    bag: Path, world: World, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither lake nor ledger can help, nor a package in the way, nor settings of the caller."""
    moved = bag.parent / "moved away"
    world.settings.home.rename(moved)
    trap = bag.parent / "fabric_pipeline"
    trap.mkdir()
    (trap / "__init__.py").write_text("raise SystemExit(0)")
    monkeypatch.setenv("FABRIC_HOME", "/nonexistent")
    monkeypatch.setenv("PYTHONPATH", str(bag.parent))
    monkeypatch.chdir(bag.parent)
    try:
        sign_dossier(bag, keys / "desk")
        check = verify_dossier(Path(bag.name), signers=keys / "desk.signers")
    finally:
        moved.rename(world.settings.home)
    assert check.problems == []
    assert check.verdict == "same incident, everything run again"
    assert check.outside == ["signed by evidence-desk"]


def test_verify_against_head_and_ledger(
    bag: Path, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = json.loads((bag / "data" / "ledger.json").read_text())["chain_head"]
    good = verify_dossier(bag, head=head, ledger=world.settings.ledger)
    assert good.problems == []
    assert "the ledger holds and contains every chain link of this dossier" in good.outside
    monkeypatch.setattr(dossier_verify, "_in_fresh_process", check_dossier)
    bad = verify_dossier(bag, head=hashlib.sha256(b"other").hexdigest())
    assert any("does not contain the known head" in problem for problem in bad.problems)
    with pytest.raises(NotFoundError):
        verify_dossier(bag, ledger=tmp_path / "none.sqlite")


def test_verify_says_what_went_wrong_with_the_check_itself(
    bag: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert verify_dossier(tmp_path / "none").problems == [f"{tmp_path / 'none'}: is no folder"]
    monkeypatch.setattr(dossier_verify, "TIMEOUT_S", 0.01)
    assert "did not end within" in verify_dossier(bag).problems[0]
    monkeypatch.undo()
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    assert "the check ended with code 1" in verify_dossier(bag).problems[0]


def test_the_bundle_for_the_vendor_is_the_same_again_and_holds_the_form(
    bag: Path, keys: Path, tmp_path: Path
) -> None:
    sign_dossier(bag, keys / "desk")
    names = bundle(bag, tmp_path / "one.zip")
    bundle(bag, tmp_path / "two.zip")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    assert {"data/vendor/rma_request.txt", "data/figure.svg", SIGNATURE} <= set(names)
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        assert archive.testzip() is None
        text = archive.read(f"{bag.name}/data/vendor/rma_request.txt").decode()
    request = json.loads((bag / "data" / "vendor" / "rma_request.json").read_text())
    for title in ("SERIALS", "STILL HAS TO ATTACH", "CAUSES IN THE SYSTEM", "PASS CRITERIA"):
        assert title in text
    assert "bug report of the machine" in request["to_attach"][0]
    assert request["pass_criteria"] == ["no replay in ten minutes"]
    record = json.loads((bag / "data" / "incident.json").read_text())
    assert [one["sha256"] for one in request["evidence"]] == [
        one["sha256"] for one in record["evidence"]
    ]
    assert len(request["system_causes_set_aside"]) == len(record["alternatives"]) > 0


def test_no_bundle_of_what_does_not_hold_or_has_no_ticket(
    bag: Path, world: World, tmp_path: Path
) -> None:
    without = world.accused.model_copy(update={"incident_id": "INC-00000000000d"})
    made = build_dossier(world.settings, world.ledger, without, START)
    with pytest.raises(UsageError, match="no request to a vendor"):
        bundle(made.path, tmp_path / "x.zip")
    with pytest.raises(FabricError, match="cannot be written"):
        bundle(bag, tmp_path / "none" / "x.zip")
    (bag / "data" / "figure.svg").write_text("spoilt")
    with pytest.raises(BadInputError, match="does not hold"):
        bundle(bag, tmp_path / "x.zip")
    assert not (tmp_path / "x.zip").exists()
