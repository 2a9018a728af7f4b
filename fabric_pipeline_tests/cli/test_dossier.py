"""`dossier build|verify|sign|vendor` as a person types them."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from fabric_pipeline.settings import Settings
from fabric_pipeline_tests.cli.calls import Shell


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """A throw-away key; beside it the file of allowed signers."""
    path = tmp_path / "signing-key"
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "desk", "-f", path]
    subprocess.run(command, check=True)
    public = path.with_suffix(".pub").read_text()
    (tmp_path / "signers").write_text(f"evidence-desk {public}")
    return path


def test_built_signed_verified_and_packed(
    shell: Shell, home: Settings, key: Path, tmp_path: Path
) -> None:
    incident = shell("incidents", "--json").json[0]["incident_id"]
    folder = shell("dossier", "build", incident, "--json").json[0]["path"]
    unsigned = shell("dossier", "verify", folder, "--signers", tmp_path / "signers")
    assert unsigned.code == 1
    assert "problem: it bears no signature" in unsigned.err
    assert shell("dossier", "sign", folder, "--key", key).code == 0
    answer = shell("dossier", "verify", folder, "--signers", tmp_path / "signers", "--complete")
    assert answer.code == 0, answer.err
    assert "signed by evidence-desk" in answer.out
    assert "same incident, everything run again" in answer.out
    again = shell("dossier", "build", incident, "--sign", key)
    assert "signed" in again.out
    assert str(key) not in again.out + again.err + answer.out + answer.err
    packed = shell("dossier", "vendor", folder, "--out", tmp_path / "mail.zip", "--json")
    assert "data/vendor/rma_request.txt" in packed.json["files"]
    with zipfile.ZipFile(tmp_path / "mail.zip") as archive:
        assert len(archive.namelist()) == len(packed.json["files"])


def test_wrong_use_is_answered_with_what_to_do(
    shell: Shell, home: Settings, tmp_path: Path
) -> None:
    incident = shell("incidents", "--json").json[0]["incident_id"]
    folder = shell("dossier", "build", incident, "--json").json[0]["path"]
    nobody = shell("dossier", "verify", folder, "--identity", "x")
    assert (nobody.code, "--signers" in nobody.err) == (2, True)
    no_key = shell("dossier", "sign", folder, "--key", tmp_path / "none")
    assert (no_key.code, "key file is not there" in no_key.err) == (1, True)
    no_folder = shell("dossier", "vendor", tmp_path / "none", "--out", tmp_path / "x.zip")
    assert (no_folder.code, "is no folder" in no_folder.err) == (3, True)
