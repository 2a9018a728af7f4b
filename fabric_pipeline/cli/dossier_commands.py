"""Commands `dossier build|verify|sign|vendor`: evidence folders that need no trust in us."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from fabric_pipeline.cli.completion import incident_names
from fabric_pipeline.cli.output import plain, put, put_json, say
from fabric_pipeline.cli.progress_line import progress_line

Json = Annotated[bool, typer.Option("--json", help="Print as JSON.")]
Folder = Annotated[Path, typer.Argument(help="Folder of a dossier.")]


def build(
    incident: Annotated[
        str,
        typer.Argument(
            help="Incident id, such as INC-0123456789ab.", autocompletion=incident_names
        ),
    ],
    drop: Annotated[
        str | None, typer.Option("--drop", help="Drop, when the incident is in several.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option("--sign", help="SSH key to sign it with (see dossier sign).")
    ] = None,
    json: Json = False,
) -> None:
    """Build the evidence dossier of one incident. The same facts give the same bytes."""
    from fabric_pipeline.errors import NotFoundError
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.store.ledger import Ledger
    from fabric_pipeline.workflows.dossier_build import build_dossiers
    from fabric_pipeline.workflows.dossier_sign import sign_dossier

    settings = load_settings()
    ledger = Ledger(settings.ledger)
    records = [o.record for o in ledger.incidents(drop) if o.incident_id == incident]
    if not records:
        raise NotFoundError(
            f"there is no incident {incident}", "list them: fabric-pipeline incidents --all"
        )
    with progress_line() as line:
        line(f"building the dossier of {incident}")
        made = build_dossiers(settings, ledger, records, datetime.now(UTC))
    for one in made:
        if key is not None:
            sign_dossier(one.path, key)
        elif one.lost_signature:
            say(f"{one.path}: facts have changed, the earlier signature is gone; sign it again")
    if json:
        put_json(
            [
                {
                    "path": str(one.path),
                    "manifest_sha256": one.manifest_sha256,
                    "files": one.files,
                    "chain_head": one.chain_head,
                    "signed": key is not None,
                }
                for one in made
            ]
        )
        return
    for one in made:
        signed = "  signed" if key is not None else ""
        put(f"{one.path}  manifest {one.manifest_sha256[:16]}  {one.files} files{signed}")


def verify(
    path: Folder,
    signers: Annotated[
        Path | None,
        typer.Option("--signers", help="Allowed signers (ssh-keygen): a signature is then needed."),
    ] = None,
    identity: Annotated[
        str, typer.Option("--identity", help="Signer that it must be, from the file of signers.")
    ] = "",
    head: Annotated[
        str, typer.Option("--head", help="Head of the ledger's chain that you know from elsewhere.")
    ] = "",
    ledger: Annotated[
        Path | None, typer.Option("--ledger", help="The ledger itself (ledger.sqlite).")
    ] = None,
    complete: Annotated[
        bool, typer.Option("--complete", help="End with 1 also when a part was not run again.")
    ] = False,
    json: Json = False,
) -> None:
    """Check every byte of a dossier and run its diagnosis again, from the folder alone.

    Ends with 0 when all that was checked holds and with 1 when something does not; what could not be
    run again is always named.
    """
    from fabric_pipeline.errors import UsageError
    from fabric_pipeline.workflows.dossier_verify import verify_dossier

    if identity and signers is None:
        raise UsageError("--identity needs --signers", "give the file of allowed signers")
    with progress_line() as line:
        line("checking every byte and judging again")
        check = verify_dossier(path, signers=signers, identity=identity, head=head, ledger=ledger)
    for problem in check.problems:
        say(f"problem: {plain(problem)}")
    if json:
        put_json({"path": str(path), "verdict": check.verdict} | asdict(check))
    elif check.problems:
        say(f"{path}: {plain(check.verdict)}")
    else:
        put(f"{path}: {check.files} files, all as listed; checks that held: {len(check.rerun)}")
        for said in check.outside:
            put(f"  {plain(said)}")
        put(f"  {plain(check.verdict)}")
    if check.problems or (complete and check.not_rerun):
        raise typer.Exit(1)


def sign(
    path: Folder,
    key: Annotated[
        Path,
        typer.Option(
            "--key", help="SSH private key, or a public key that an agent or token holds."
        ),
    ],
    json: Json = False,
) -> None:
    """Sign a dossier with an SSH key of the site; anyone with ssh-keygen can check it."""
    from fabric_pipeline.workflows.dossier_sign import sign_dossier

    signature = str(sign_dossier(path, key))
    if json:
        put_json({"path": str(path), "signature": signature})
    else:
        put(signature)


def vendor(
    path: Folder,
    out: Annotated[Path, typer.Option("--out", help="Zip file to write.")],
    json: Json = False,
) -> None:
    """Pack the request to the vendor with its evidence as one zip file. Sends nothing."""
    from fabric_pipeline.workflows.dossier_vendor import bundle

    names = bundle(path, out)
    if json:
        put_json({"path": str(out), "files": names})
    else:
        put(f"{out}  {len(names)} files")
