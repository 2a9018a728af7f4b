"""Writes `data/examples` anew: outputs of the shipped drops, of other faults, answers of the audit file.

`python -m demo.examples data/examples` is the one command (`make examples`). What is written is made by the
product; the same code gives the same bytes, but for the versions of packages that dossiers name.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from demo.audit_answers import answer_files, answers
from demo.example_tickets import write_examples
from demo.examples_page import index_page
from demo.shipped_examples import copy_dossiers, run_shipped, shipped_files, write_files
from fabric_pipeline.settings import Settings

FOLDERS = SHIPPED, AUDIT, OTHERS = "shipped_drops", "audit", "other_faults"


def example_files(settings: Settings, folder: Path) -> dict[str, str]:
    """Path below `folder` -> text, dossiers and other faults aside; the other faults lie there already."""
    found = answers(settings)
    files = {f"{SHIPPED}/{name}": text for name, text in shipped_files(settings).items()}
    files |= {f"{AUDIT}/{name}": text for name, text in answer_files(found).items()}
    return files | {"README.md": index_page(settings, found, folder)}


def write_all(folder: Path) -> None:
    """Write the folder; what an earlier version wrote into its three parts is removed first."""
    for name in FOLDERS:
        shutil.rmtree(folder / name, ignore_errors=True)
    write_examples(folder / OTHERS)
    with TemporaryDirectory() as scratch:
        settings = run_shipped(Path(scratch) / "home")
        write_files(folder, example_files(settings, folder))
        copy_dossiers(settings, folder / SHIPPED)


def main() -> None:
    """Write the folder that was named."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m demo.examples FOLDER")
    write_all(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
