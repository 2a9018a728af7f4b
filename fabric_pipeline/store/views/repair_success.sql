-- How often the first repair of a fault helped, and how long repairs took, per part and per action; unknown outcomes count apart
WITH graded AS (
    SELECT
        *, row_number() OVER (PARTITION BY incident_id ORDER BY repaired_at, seq) = 1 AS is_first,
        outcome IN ('verified', 'came_back') AS is_known
    FROM repair_outcomes
),
grouped AS (
    SELECT 'part' AS grouped_by, coalesce(nullif(part, ''), 'not stated') AS name, * FROM graded
    UNION ALL
    SELECT 'action', action, * FROM graded
)
SELECT
    grouped_by, name, count(*) AS repairs,
    count(*) FILTER (WHERE outcome = 'verified') AS verified,
    count(*) FILTER (WHERE outcome = 'came_back') AS came_back,
    count(*) FILTER (WHERE NOT is_known) AS outcome_unknown,
    count(*) FILTER (WHERE is_first AND is_known) AS first_repairs_known,
    count(*) FILTER (WHERE is_first AND outcome = 'verified') AS first_repairs_verified,
    round(100.0 * count(*) FILTER (WHERE is_first AND outcome = 'verified')
        / nullif(count(*) FILTER (WHERE is_first AND is_known), 0), 1) AS first_repair_success_pct,
    count(time_to_repair_h) AS timed_repairs,
    round(median(time_to_repair_h), 2) AS median_time_to_repair_h
FROM grouped
GROUP BY grouped_by, name
ORDER BY grouped_by, repairs DESC, name
