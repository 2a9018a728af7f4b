"""Signatures of dossiers with a key that the site holds: SSH signatures, made and checked by ssh-keygen.

Signed is the tag manifest, which holds the hash of every other file. Keys are named by the caller and
stay outside; neither their path nor a passphrase is read, kept or shown here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from fabric_pipeline.errors import BadInputError, FabricError
from fabric_pipeline.workflows.dossier_bag import SIGNATURE, TAG_MANIFEST, check_bag

# Part of what is signed, so that a signature made for something else never counts for a dossier.
NAMESPACE = "fabric-pipeline-dossier"
_PROGRAM = "ssh-keygen"


@dataclass(frozen=True, slots=True)
class SignatureCheck:
    """What was found: `says` in one sentence, and in `problem` what does not hold ("" when it does)."""

    says: str
    problem: str = ""


def sign_dossier(bag: Path, key: Path) -> Path:
    """Sign a dossier that holds; returns the file of the signature.

    `key` is a private key, or a public key whose private half an agent or a security key holds.
    Raises BadInputError for a dossier that does not hold, FabricError when it cannot be signed.
    """
    problems, _ = check_bag(bag) if bag.is_dir() else ([f"{bag}: is no folder"], 0)
    if problems:
        raise BadInputError(
            f"the dossier does not hold and is not signed: {problems[0]}",
            "build it again, then sign",
        )
    if not key.is_file():
        raise FabricError("the key file is not there or is no file", "give the path of a key")
    with tempfile.TemporaryDirectory() as folder:
        # Signed is a copy: ssh-keygen writes beside what it signs and asks before it overwrites.
        manifest = Path(shutil.copyfile(bag / TAG_MANIFEST, Path(folder) / TAG_MANIFEST))
        done = _run("-q", "-Y", "sign", "-f", str(key.absolute()), "-n", NAMESPACE, str(manifest))
        made = manifest.with_name(SIGNATURE)
        if done.returncode or not made.is_file():
            raise FabricError(
                "ssh-keygen did not sign with this key",
                "check that it is an SSH key, may be read by you alone, and that its passphrase or "
                "agent is at hand",
            )
        target = bag / SIGNATURE
        temporary = target.with_name(f".{SIGNATURE}.tmp")
        temporary.write_bytes(made.read_bytes())
        temporary.replace(target)
    return target


def check_signature(bag: Path, signers: Path | None, identity: str = "") -> SignatureCheck:
    """Check the signature of a dossier against a file of allowed signers (see ssh-keygen(1)).

    Without `identity` any signer of the file counts. Without `signers` only the signature itself is
    checked, not whose it is. A missing signature is a problem when signers are given.
    """
    there = (bag / SIGNATURE).is_file() and not (bag / SIGNATURE).is_symlink()
    if not there:
        said = "it bears no signature"
        return SignatureCheck(said, said if signers else "")
    if signers is None:
        if shutil.which(_PROGRAM) is None:
            return SignatureCheck("its signature was not checked: ssh-keygen is not installed")
        if _verify(bag, "check-novalidate"):
            return SignatureCheck("its signature fits; whose it is was not checked (--signers)")
        said = "the signature does not fit the dossier"
        return SignatureCheck(said, said)
    if not signers.is_file():
        raise FabricError("the file of allowed signers is not there", "give the path of the file")
    names = [identity] if identity else _principals(bag, signers)
    for name in names:
        if _verify(bag, "verify", "-f", str(signers.absolute()), "-I", name):
            return SignatureCheck(f"signed by {name}")
    whose = f"of {identity}" if identity else "of an allowed signer"
    said = f"the signature is not {whose}, or does not fit the dossier"
    return SignatureCheck(said, said)


def _verify(bag: Path, how: str, *options: str) -> bool:
    manifest = (bag / TAG_MANIFEST).read_bytes()
    signature = str((bag / SIGNATURE).absolute())
    done = _run("-Y", how, "-n", NAMESPACE, "-s", signature, *options, given=manifest)
    return done.returncode == 0


def _principals(bag: Path, signers: Path) -> list[str]:
    files = ("-s", str((bag / SIGNATURE).absolute()), "-f", str(signers.absolute()))
    done = _run("-Y", "find-principals", *files)
    return done.stdout.decode("utf-8", "replace").splitlines() if done.returncode == 0 else []


def _run(*arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """ssh-keygen, asking for a passphrase at the terminal only; its words may name the key and stay here."""
    program = shutil.which(_PROGRAM)
    if program is None:
        raise FabricError(
            "ssh-keygen is not installed", "install OpenSSH (openssh-client) to sign or check"
        )
    return subprocess.run(  # noqa: S603 - the program found above, with arguments of ours
        [program, *arguments], input=given, capture_output=True, check=False, env=os.environ
    )
