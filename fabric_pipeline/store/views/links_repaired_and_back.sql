-- Links accused again after drops in which they were measured and clean, with the repairs reported between; unmeasured drops prove nothing
WITH places AS (
    SELECT
        g.drop, row_number() OVER (
            ORDER BY coalesce(any_value(p.first_seen), min(g.diagnosed_at)), g.drop
        ) AS place
    FROM ledger_diagnoses AS g LEFT JOIN ledger_drops AS p ON p.drop = g.drop
    GROUP BY g.drop
),
accused AS (
    SELECT
        regexp_replace(i.component, '/lane-[0-9]+$', '') AS component, i.drop, p.place,
        min(CAST(i.record ->> '$.first_seen' AS TIMESTAMPTZ)) AS first_seen,
        max(CAST(i.record ->> '$.last_seen' AS TIMESTAMPTZ)) AS last_seen
    FROM ledger_incidents AS i JOIN places AS p ON p.drop = i.drop
    WHERE i.is_current AND i.needs_ticket
    GROUP BY ALL
),
gaps AS (
    SELECT
        component, drop, place, first_seen,
        lead(drop) OVER per_component AS back_in_drop, lead(place) OVER per_component AS back_place,
        lead(last_seen) OVER per_component AS back_last_seen
    FROM accused
    WINDOW per_component AS (PARTITION BY component ORDER BY place)
),
measured AS (
    SELECT DISTINCT drop, node || ':' || interface AS component
    FROM link_counters
    WHERE quality = 'ok' AND node || ':' || interface IN (SELECT component FROM accused)
),
repaired AS (
    SELECT regexp_replace(component, '/lane-[0-9]+$', '') AS component, seq, repaired_at
    FROM repair_outcomes
)
SELECT
    g.component, g.drop AS accused_in_drop, g.back_in_drop,
    count(DISTINCT m.drop) AS clean_drops_between,
    count(DISTINCT b.drop) - count(DISTINCT m.drop) AS unmeasured_drops_between,
    count(DISTINCT r.seq) AS repairs_between
FROM gaps AS g
JOIN places AS b ON b.place > g.place AND b.place < g.back_place
LEFT JOIN measured AS m ON m.drop = b.drop AND m.component = g.component
LEFT JOIN repaired AS r ON r.component = g.component
    AND r.repaired_at > g.first_seen AND r.repaired_at < g.back_last_seen
GROUP BY g.component, g.drop, g.back_in_drop
HAVING count(m.drop) > 0
ORDER BY g.component, g.drop
