-- Parts by serial that were accused at more than one link, or were taken out of one and turned up at another
WITH accused AS (
    SELECT
        s.serial, i.incident_id, 'T-' || replace(i.incident_id, 'INC-', '') AS ticket_id,
        i.component AS link, 'accused' AS how,
        CAST(i.record ->> '$.first_seen' AS TIMESTAMPTZ) AS moment
    FROM ledger_incidents AS i, unnest([
        i.record ->> '$.place.gpu_serial', i.record ->> '$.far_place.gpu_serial',
        i.record ->> '$.place.nic_serial', i.record ->> '$.far_place.nic_serial',
        i.record ->> '$.cable.serial'
    ]) AS s(serial)
    WHERE i.is_current AND i.needs_ticket
),
handled AS (
    SELECT old_serial AS serial, incident_id, ticket_id, component AS link, 'taken_out' AS how, repaired_at AS moment
    FROM repair_outcomes
    WHERE old_serial <> new_serial
    UNION ALL
    SELECT new_serial, incident_id, ticket_id, component, 'put_in', repaired_at
    FROM repair_outcomes
    WHERE old_serial <> new_serial
),
told AS (
    SELECT * FROM accused WHERE serial <> ''
    UNION ALL
    SELECT * FROM handled WHERE serial <> ''
)
SELECT
    serial,
    count(DISTINCT incident_id) FILTER (WHERE how = 'accused') AS accused_incidents,
    count(DISTINCT (incident_id, moment)) FILTER (WHERE how = 'taken_out') AS taken_out,
    count(DISTINCT (incident_id, moment)) FILTER (WHERE how = 'put_in') AS put_in,
    list(DISTINCT ticket_id ORDER BY ticket_id) AS tickets,
    list(DISTINCT link ORDER BY link) AS links,
    min(moment) AS first_at, max(moment) AS last_at
FROM told
GROUP BY serial
HAVING count(DISTINCT incident_id) > 1
    AND count(*) FILTER (WHERE how IN ('accused', 'taken_out')) > 0
ORDER BY accused_incidents DESC, taken_out DESC, serial
