-- Every decision of a person: on which draft, when, why, and what was published because of it
SELECT
    r.seq AS review_seq, r.ticket_id, d.drop, r.revision, r.decision, r.reviewer, r.reason,
    r.reviewed_at, d.draft ->> '$.link' AS component, d.draft ->> '$.text.title' AS title,
    d.drafter, d.model, r.draft_sha256, d.is_current, d.is_retired, p.published_at, p.outbox_file
FROM ledger_reviews AS r
JOIN ledger_drafts AS d ON d.ticket_id = r.ticket_id AND d.revision = r.revision
LEFT JOIN ledger_publications AS p ON p.review_seq = r.seq
ORDER BY r.seq
