"""The command `fabric-pipeline`: registers the commands and turns expected errors into exit codes.

Exit codes: 0 done; 1 a drop or check failed; 2 wrong use; 3 unreadable input; 4 not found; 5 the
human gate refused; 6 no draft; 7 a pipeline run failed; 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from io import TextIOWrapper
from typing import Annotated

import typer

from fabric_pipeline import __version__
from fabric_pipeline.cli import (
    audit_commands,
    catalogue_commands,
    completion,
    dossier_commands,
    fabric_commands,
    find_command,
    inspect_commands,
    ledger_commands,
    pull_command,
    retention_command,
    run_commands,
    service_commands,
    synth_command,
    ticket_commands,
    ticket_group,
)
from fabric_pipeline.cli.output import say
from fabric_pipeline.errors import FabricError

_INTERRUPTED = 130  # what typer makes of Ctrl-C
_PROGRAM = "fabric-pipeline"

app = typer.Typer(
    name=_PROGRAM,
    help="Finds the one degraded link that slows a GPU training job. Diagnoses only: it changes nothing on the cluster.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
audit = typer.Typer(
    help="Ask and export the audit database.", no_args_is_help=True, rich_markup_mode=None
)
dossier = typer.Typer(
    help="Build, verify, sign and mail evidence dossiers.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
catalogue = typer.Typer(
    help="Check and show the parts catalogue.", no_args_is_help=True, rich_markup_mode=None
)

for function in (
    run_commands.run,
    pull_command.pull,
    inspect_commands.inspect,
    inspect_commands.diagnose,
    ticket_commands.incidents,
    ticket_commands.review,
    run_commands.publish,
    fabric_commands.topology,
    fabric_commands.matrix,
    fabric_commands.compare,
    find_command.find,
    synth_command.synth,
    retention_command.retention,
    service_commands.dev,
    service_commands.portal,
    service_commands.doctor,
):
    app.command()(function)
audit.command()(audit_commands.query)
audit.command()(audit_commands.export)
audit.command()(audit_commands.tables)
audit.command()(audit_commands.rebuild)
catalogue.command()(catalogue_commands.check)
catalogue.command()(catalogue_commands.show)
dossier.command()(dossier_commands.build)
dossier.command()(dossier_commands.verify)
dossier.command()(dossier_commands.sign)
dossier.command()(dossier_commands.vendor)
app.add_typer(ticket_group.tickets, name="tickets")
app.add_typer(ledger_commands.ledger, name="ledger")
app.add_typer(catalogue, name="catalogue")
app.add_typer(audit, name="audit")
app.add_typer(dossier, name="dossier")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options before the command."""


def main() -> None:
    """Console entry point."""
    if completion.is_completing():
        sys.stdout.write(completion.offer(partial(app, prog_name=_PROGRAM)))
        return
    if isinstance(sys.stdout, TextIOWrapper):  # a terminal without these signs gets their codes
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app(prog_name=_PROGRAM)
    except FabricError as problem:
        say(f"error: {problem.message}")
        if problem.remedy:
            say(f"  what to do: {problem.remedy}")
        sys.exit(problem.exit_code)
    except OSError as problem:
        say(f"error: {problem.filename or 'file'}: {problem.strerror or problem}")
        say("  what to do: check the path, its permissions and the disk")
        sys.exit(1)
    except SystemExit as end:
        if end.code == _INTERRUPTED:
            say("interrupted; what was finished is kept, run the command again to continue")
        raise
    finally:
        _let_go_of_a_closed_pipe()


def _let_go_of_a_closed_pipe() -> None:
    """A reader such as `head` may have left; what Python still holds for it must not end in a message."""
    stream = sys.__stdout__
    try:
        if stream is not None:
            stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())  # type: ignore[union-attr]
