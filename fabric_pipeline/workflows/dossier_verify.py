"""Verifying a dossier in a process that has nothing but the dossier, and against what is known outside.

The check itself is in `dossier_check`. It runs in a fresh interpreter without the settings of this
one, so that neither lake nor ledger can help it; signature and known head are looked at here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from fabric_pipeline.errors import FabricError, NotFoundError
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.dossier_bag import PAYLOAD, shown
from fabric_pipeline.workflows.dossier_chain import head_problems
from fabric_pipeline.workflows.dossier_check import DossierCheck
from fabric_pipeline.workflows.dossier_ledger import facts_in
from fabric_pipeline.workflows.dossier_sign import check_signature

# The largest whole drop is judged in under a minute; a dossier that takes longer is none of ours.
TIMEOUT_S = 900
_CHILD = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from fabric_pipeline.workflows.dossier_check import as_json, check_dossier
print(as_json(check_dossier(Path(sys.argv[2]))))
"""
# What an interpreter may need to start at all; nothing that says where our data lie.
_PASSED_ON = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TMPDIR")


def verify_dossier(
    path: Path,
    *,
    signers: Path | None = None,
    identity: str = "",
    head: str = "",
    ledger: Path | None = None,
) -> DossierCheck:
    """Check a dossier folder in a fresh process; never raises for what is in the folder.

    `signers` (allowed signers of ssh-keygen) and `identity` check its signature, `head` a head of the
    ledger's chain that is known from elsewhere, `ledger` the file of the ledger itself.
    """
    check = _in_fresh_process(path)
    if not path.is_dir():
        return check
    signature = check_signature(path, signers, identity)
    check.outside.append(signature.says)
    if signature.problem:
        check.problems.append(signature.problem)
    if (head or ledger) and not check.problems:
        _against_ledger(path, head, ledger, check)
    return check


def _in_fresh_process(path: Path) -> DossierCheck:
    root = Path(__file__).resolve().parents[2]
    with tempfile.TemporaryDirectory() as elsewhere:
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        environment |= {"HOME": elsewhere, "TZ": "UTC"}
        command = [sys.executable, "-I", "-c", _CHILD, str(root), str(path.absolute())]
        try:
            done = subprocess.run(  # noqa: S603 - this interpreter and arguments of ours
                command,
                cwd=elsewhere,
                env=environment,
                capture_output=True,
                timeout=TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return DossierCheck([f"the check did not end within {TIMEOUT_S} s"], 0)
    try:
        return DossierCheck(**json.loads(done.stdout))
    except (ValueError, TypeError):
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no words"]
        said = f"the check ended with code {done.returncode}: {shown(last[0][:300])}"
        return DossierCheck([said], 0)


def _against_ledger(path: Path, head: str, ledger: Path | None, check: DossierCheck) -> None:
    facts = facts_in(path / PAYLOAD)
    if head:
        problems, says = head_problems(facts, head.lower())
        check.problems += problems
        check.outside += [says] if says else []
    if ledger is None:
        return
    if not ledger.is_file():
        raise NotFoundError(f"{ledger}: there is no ledger", "give the path of ledger.sqlite")
    try:
        hashes = {link.hash for link in facts.links} | {facts.head}
        broken = Ledger(ledger).verify_chain(sorted(hashes))
    except FabricError as error:
        check.problems.append(f"the ledger cannot be read: {shown(error.message)}")
        return
    check.problems += [f"ledger: {problem}" for problem in broken]
    if not broken:
        check.outside.append("the ledger holds and contains every chain link of this dossier")
