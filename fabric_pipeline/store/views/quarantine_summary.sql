-- What was read and refused, per drop, file and rule, with the first and last line it happened on
SELECT
    drop, file, format, rule, count(*) AS refused, min(line) AS first_line, max(line) AS last_line
FROM quarantined_telemetry
GROUP BY drop, file, format, rule
ORDER BY refused DESC, drop, file, rule
