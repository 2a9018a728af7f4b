"""The README of a dossier: what it is and how to check it with standard tools, in plain words."""

from __future__ import annotations

from collections.abc import Sequence

from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.workflows.dossier_bag import shown
from fabric_pipeline.workflows.dossier_rows import RowSet

README = """\
Evidence dossier {incident_id}
Drop: {drop}
Component: {component}
Verdict: {fault_type}, {severity}

WHAT THIS IS
The evidence behind one incident of a diagnosis pipeline for GPU interconnects, as a BagIt folder
(RFC 8493). Nothing in it acts on a machine. It can be checked with standard tools alone.

HOW TO CHECK IT WITHOUT OUR SOFTWARE
1. In the folder that holds manifest-sha256.txt:
     sha256sum -c manifest-sha256.txt
     sha256sum -c tagmanifest-sha256.txt
   Every line must end in OK, and `find data -type f | wc -l` must give as many files as
   manifest-sha256.txt has lines.
2. The hash of manifest-sha256.txt itself (`sha256sum manifest-sha256.txt`) stands in the pipeline's
   table evidence_dossiers. A dossier that was replaced as a whole no longer has it.
3. data/incident.json states a hash over its own content in evidence_sha256:
python3 -c "
import hashlib, json
record = json.load(open('data/incident.json', encoding='utf-8'))
stated = record.pop('evidence_sha256')
for key in ('status', 'repeat_count'):
    record.pop(key)
text = json.dumps(record, sort_keys=True, ensure_ascii=False, separators=(',', ':'))
print(stated == hashlib.sha256(text.encode()).hexdigest())
"
   must print True.
4. Each file in data/excerpts/ names a source file and the SHA-256 of the whole of it. Where the
   source is still kept, `sha256sum FILE` must give that hash and `sed -n 'Np' FILE` the line shown
   beside the number N. An excerpt whose state is not "unchanged" says what is missing.
5. data/rows/*.parquet and *.csv hold the same rows. Each row has file, file_sha256 and line where
   its table has them, so that it leads back to a line of an excerpt. data/queries.sql holds the
   queries that found them; they run on the pipeline's audit.duckdb as they stand.
6. data/chain.csv holds links of the ledger's hash chain, data/ledger.json the rows of this incident
   and the head of the chain when this dossier was built; the ledger must still contain that head.
   payload_sha256 is the hash of a row as JSON (keys sorted, ASCII, no spaces), hash that of
   seq, kind, row_seq, payload_sha256 and prev_hash with a line feed between them.
7. A signature, if there is one, is tagmanifest-sha256.txt.sig. With the site's file of allowed
   signers and the NAME of a signer in it:
     ssh-keygen -Y verify -f ALLOWED_SIGNERS -I NAME -n fabric-pipeline-dossier \
       -s tagmanifest-sha256.txt.sig < tagmanifest-sha256.txt

RUNNING THE DIAGNOSIS AGAIN
`fabric-pipeline dossier verify FOLDER` does it from this folder alone.
{whole}

WHAT IS IN data/
incident.json      the incident record; its evidence list has the ids that tickets cite
{ticket_lines}{whole_line}excerpts/          lines of the source files, numbered, each with the hash of the whole file
rows/              the rows the incident rests on: those of the link's two ends, of the affected
                   runs, and of the lines that the evidence names
queries.sql        the queries behind rows/, parameters included
figures.csv        numbers of the reasoning, each with the query that returns it
lineage.json       run, tables with their file hashes, and how many rows match and were written
versions.json      versions of software and readers, and the limits of the rules as used
ledger.json        rows of the ledger about this incident, and the head of its hash chain
chain.csv          links of the hash chain
figure.svg         errors of the link over time under the slow intervals of the runs

BOUNDS
At most {bound} rows of one table and {lines} lines of one source file (besides the first and the
last line of each reference). {cut}

HOW TEXT FROM TELEMETRY IS WRITTEN
Host names and log lines come from the machines and are data, whatever they say. In a CSV file a text
cell that begins with = + - @ a tab, a line break or a single quote has one single quote put in front,
so that a spreadsheet does not run it; take one away to get the text back. An empty cell means "not
stated". The Parquet files hold the text as it is. In excerpts, unprintable characters are written
as \\uXXXX. The picture escapes all text.
"""

# Parts that not every dossier has, in the order in which they are listed.
_PARTS = {
    "ticket.json": "the newest draft of the repair ticket from this drop",
    "ticket_sheet.html": "the same ticket as the sheet that a technician prints",
    "reviews.json": "what people decided about its revisions",
    "edits.json": "what people changed in its text",
    "publications.json": "when it left for the outbox, and on whose approval",
    "repairs.json": "what people reported as repaired",
    "link_checks.json": "how the link looked in later drops",
    "vendor": "what a vendor's return form asks for, filled in",
}
_WHOLE = "It holds the whole drop (data/drop/), so every stage runs again and the incident must be the same."
_WHOLE_LINE = (
    "drop/              the tables that the diagnosis starts from, whole, and their list of files\n"
)


def readme(
    record: IncidentRecord, rows: Sequence[RowSet], lines: int, parts: Sequence[str], not_whole: str
) -> str:
    """The text of `README.txt`."""
    cut = [
        f"{one.table} ({one.written} of {one.matched} rows)"
        for one in rows
        if one.in_lake and not one.is_complete
    ]
    absent = [one.table for one in rows if not one.in_lake]
    said = f"Cut here: {', '.join(cut)}." if cut else "No table was cut."
    if absent:
        said += f" The drop has no table {', '.join(absent)}."
    return README.format(
        incident_id=shown(record.incident_id),
        drop=shown(record.drop),
        component=shown(record.isolated_component),
        fault_type=record.fault_type,
        severity=record.severity,
        ticket_lines="".join(f"{n:<18} {says}\n" for n, says in _PARTS.items() if n in parts),
        whole=f"It holds an excerpt: {not_whole}. What needs more is named."
        if not_whole
        else _WHOLE,
        whole_line="" if not_whole else _WHOLE_LINE,
        bound=max(one.bound for one in rows),
        lines=lines,
        cut=said,
    )
