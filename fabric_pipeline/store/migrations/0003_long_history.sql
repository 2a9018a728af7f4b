-- When a drop was measured and in which cluster, so that nobody opens its tables to know that. Written
-- again whenever the drop is diagnosed; it follows from the lake and is no history of its own.
CREATE TABLE drop_spans (
    drop_id TEXT PRIMARY KEY,
    cluster TEXT,
    first_ts TEXT,
    last_ts TEXT
) STRICT;
CREATE INDEX drop_spans_cluster ON drop_spans (cluster, last_ts);

-- Accusing observations without their records: both ends of the link, for the question which of them a
-- drop can speak about. Whether one still stands is said by current_observations.
CREATE TABLE accused_ends (
    seq INTEGER PRIMARY KEY,
    drop_id TEXT NOT NULL,
    incident_id TEXT NOT NULL,
    component TEXT NOT NULL,
    far_end TEXT NOT NULL
) STRICT;
CREATE INDEX accused_ends_drop ON accused_ends (drop_id, incident_id, component, far_end);

-- Serials of the parts that an observation accuses: GPUs and adapters at both ends, and the cable.
CREATE TABLE accused_serials (
    serial TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (serial, seq)
) STRICT, WITHOUT ROWID;

-- Incidents that nobody has to look after any more: drops that begin after from_ts are not asked about
-- them. A new accusation or a reported repair opens them again.
CREATE TABLE settled_incidents (
    incident_id TEXT PRIMARY KEY,
    from_ts TEXT NOT NULL
) STRICT;

CREATE INDEX observations_accused ON incident_observations (incident_id, component)
WHERE needs_ticket = 1;
CREATE INDEX drafts_incident ON drafts (incident_id);

CREATE TRIGGER observations_accuse AFTER INSERT ON incident_observations
WHEN NEW.needs_ticket = 1 AND NEW.found = 1 AND json_valid(NEW.json)
BEGIN
    INSERT INTO accused_ends (seq, drop_id, incident_id, component, far_end)
    VALUES (
        NEW.seq, NEW.drop_id, NEW.incident_id, NEW.component,
        coalesce(CAST(json_extract(NEW.json, '$.far_end') AS TEXT), '')
    );
    INSERT OR IGNORE INTO accused_serials (serial, seq)
    SELECT CAST(p.value AS TEXT), NEW.seq
    FROM json_each(json_array(
        json_extract(NEW.json, '$.place.gpu_serial'), json_extract(NEW.json, '$.far_place.gpu_serial'),
        json_extract(NEW.json, '$.place.nic_serial'), json_extract(NEW.json, '$.far_place.nic_serial'),
        json_extract(NEW.json, '$.cable.serial')
    )) AS p
    WHERE p.value IS NOT NULL AND p.value <> '';
    DELETE FROM settled_incidents WHERE incident_id = NEW.incident_id;
END;
CREATE TRIGGER repairs_reopen AFTER INSERT ON repairs
BEGIN
    DELETE FROM settled_incidents WHERE incident_id = NEW.incident_id;
END;

INSERT INTO accused_ends (seq, drop_id, incident_id, component, far_end)
SELECT
    seq, drop_id, incident_id, component,
    coalesce(CAST(json_extract(json, '$.far_end') AS TEXT), '')
FROM incident_observations
WHERE needs_ticket = 1 AND found = 1 AND json_valid(json);
INSERT OR IGNORE INTO accused_serials (serial, seq)
SELECT CAST(p.value AS TEXT), o.seq
FROM incident_observations AS o, json_each(json_array(
    json_extract(o.json, '$.place.gpu_serial'), json_extract(o.json, '$.far_place.gpu_serial'),
    json_extract(o.json, '$.place.nic_serial'), json_extract(o.json, '$.far_place.nic_serial'),
    json_extract(o.json, '$.cable.serial')
)) AS p
WHERE o.needs_ticket = 1 AND o.found = 1 AND json_valid(o.json)
    AND p.value IS NOT NULL AND p.value <> '';

-- Tables of old drops whose rows were thrown away by policy. `sha256` is that of the file that stood for
-- the table. Each row carries a hash over itself and the row before it.
CREATE TABLE expired (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    drop_id TEXT NOT NULL,
    table_name TEXT NOT NULL,
    rows INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
    policy TEXT NOT NULL CHECK (policy <> ''),
    at TEXT NOT NULL,
    prev_hash TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE
) STRICT;
CREATE INDEX expired_drop ON expired (drop_id, table_name, seq);
CREATE TRIGGER expired_grows_at_its_end BEFORE INSERT ON expired
WHEN EXISTS (SELECT 1 FROM expired WHERE seq = NEW.seq OR hash = NEW.hash)
BEGIN SELECT RAISE(ABORT, 'expired is append-only'); END;
CREATE TRIGGER expired_no_update BEFORE UPDATE ON expired
BEGIN SELECT RAISE(ABORT, 'expired is append-only'); END;
CREATE TRIGGER expired_no_delete BEFORE DELETE ON expired
BEGIN SELECT RAISE(ABORT, 'expired is append-only'); END;
