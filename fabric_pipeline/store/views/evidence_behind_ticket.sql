-- The source lines behind each ticket revision, with file hashes and the ticket's claims that cite them
WITH observed AS (
    SELECT * FROM ledger_incidents WHERE found
    QUALIFY row_number() OVER (
        PARTITION BY incident_id, drop, evidence_sha256 ORDER BY seq DESC
    ) = 1
),
evidence AS (
    SELECT
        d.ticket_id, d.revision, d.draft_sha256, d.is_current, d.drop, d.incident_id, o.component,
        from_json(
            d.draft -> '$.text.evidence_statements',
            '[{"claim": "VARCHAR", "evidence_ids": ["VARCHAR"]}]'
        ) AS statements,
        unnest(from_json(
            o.record -> '$.evidence',
            '[{"evidence_id": "VARCHAR", "file": "VARCHAR", "sha256": "VARCHAR", "line": "BIGINT",
               "last_line": "BIGINT", "says": "VARCHAR", "excerpt": "VARCHAR", "query": "VARCHAR"}]'
        )) AS e
    FROM ledger_drafts AS d
    JOIN observed AS o ON o.incident_id = d.incident_id AND o.drop = d.drop
        AND o.evidence_sha256 = d.evidence_sha256
)
SELECT
    ticket_id, revision, is_current, drop, incident_id, component, e.evidence_id, e.file,
    e.sha256 AS file_sha256, e.line, e.last_line, e.says, e.excerpt, e.query,
    [s.claim FOR s IN statements IF list_contains(s.evidence_ids, e.evidence_id)] AS claims,
    draft_sha256
FROM evidence
ORDER BY ticket_id, revision, e.evidence_id
