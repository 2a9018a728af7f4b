-- Each drop: when it was read and diagnosed, what was found, and how far its tickets have come
WITH diagnosed AS (
    SELECT drop, count(*) AS diagnoses, max(diagnosed_at) AS last_diagnosed_at
    FROM ledger_diagnoses GROUP BY drop
),
found AS (
    SELECT drop, count(*) AS records, count(*) FILTER (WHERE needs_ticket) AS faults
    FROM ledger_incidents WHERE is_current GROUP BY drop
),
decided AS (
    SELECT ticket_id, revision, arg_max(decision, seq) AS decision
    FROM ledger_reviews GROUP BY ticket_id, revision
),
tickets AS (
    SELECT
        d.drop, count(*) AS tickets,
        count(*) FILTER (WHERE v.decision IS NULL AND NOT d.is_retired) AS awaiting_review,
        count(*) FILTER (WHERE v.decision = 'rejected' AND NOT d.is_retired) AS rejected,
        count(p.seq) AS published,
        count(*) FILTER (WHERE d.is_retired) AS retired
    FROM ledger_drafts AS d
    LEFT JOIN decided AS v ON v.ticket_id = d.ticket_id AND v.revision = d.revision
    LEFT JOIN ledger_publications AS p ON p.ticket_id = d.ticket_id AND p.revision = d.revision
    WHERE d.is_current
    GROUP BY d.drop
)
SELECT
    p.drop, p.name, p.path, p.first_seen, p.last_read, g.diagnoses, g.last_diagnosed_at,
    f.records, f.faults, t.tickets, t.awaiting_review, t.rejected, t.published, t.retired,
    p.processed_sha256 = p.content_sha256 AS newest_content_processed
FROM ledger_drops AS p
LEFT JOIN diagnosed AS g ON g.drop = p.drop
LEFT JOIN found AS f ON f.drop = p.drop
LEFT JOIN tickets AS t ON t.drop = p.drop
ORDER BY p.first_seen, p.drop
