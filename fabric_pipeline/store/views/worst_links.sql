-- Components accused by standing incidents, the costliest first; hours are unknown where none says them
SELECT
    component, count(DISTINCT drop) AS drops, count(DISTINCT incident_id) AS incidents,
    bool_or(record ->> '$.severity' = 'CRITICAL') AS ever_critical,
    sum(CAST(record ->> '$.gpu_hours_lost' AS DOUBLE)) AS gpu_hours_lost,
    max(CAST(record ->> '$.degradation_pct' AS DOUBLE)) AS worst_degradation_pct,
    max(CAST(record ->> '$.confidence' AS DOUBLE)) AS best_confidence,
    list(DISTINCT record ->> '$.fault_type') AS fault_types,
    min(CAST(record ->> '$.first_seen' AS TIMESTAMPTZ)) AS first_seen,
    max(CAST(record ->> '$.last_seen' AS TIMESTAMPTZ)) AS last_seen
FROM ledger_incidents
WHERE is_current AND needs_ticket
GROUP BY component
ORDER BY gpu_hours_lost DESC NULLS LAST, drops DESC, worst_degradation_pct DESC NULLS LAST, component
