/** Tables of the archive's SQLite file. A released step never changes: a new version adds steps at the end. */

/** SQL of each schema version; the first one makes version 1. */
export const MIGRATIONS: readonly string[] = [
  `
  -- labels and parameters are JSON. row is also that of the object.
  CREATE TABLE archived (
    row INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, namespace TEXT NOT NULL, name TEXT NOT NULL, place TEXT NOT NULL,
    phase TEXT NOT NULL, created_at INTEGER NOT NULL, started_at INTEGER, finished_at INTEGER NOT NULL,
    edition INTEGER NOT NULL, labels TEXT NOT NULL, parameters TEXT NOT NULL, template TEXT NOT NULL
  );
  CREATE INDEX archived_order ON archived (created_at, place, uid);
  CREATE INDEX archived_namespace ON archived (namespace, created_at, place, uid);
  CREATE INDEX archived_phase ON archived (phase, created_at, place, uid);
  CREATE INDEX archived_name ON archived (name, created_at, place, uid);
  CREATE INDEX archived_end ON archived (finished_at, uid);
  CREATE INDEX archived_phase_end ON archived (phase, finished_at, uid);

  -- Texts, or blobs that are compressed. large belongs into brief at this place.
  CREATE TABLE object (row INTEGER PRIMARY KEY, brief NOT NULL, at INTEGER NOT NULL, large NOT NULL);

  -- What rows are filed under, and how many are: labels (kind 'l') and parameters (kind 'p'). Those of all namespaces
  -- together have namespace ''; rows are filed under these.
  CREATE TABLE term (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, namespace TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    count INTEGER NOT NULL, UNIQUE (kind, namespace, key, value)
  );
  CREATE TABLE filed (
    term INTEGER, created_at INTEGER, place TEXT, uid TEXT, PRIMARY KEY (term, created_at, place, uid)
  ) WITHOUT ROWID;

  CREATE TABLE day_count (
    day TEXT, namespace TEXT, phase TEXT, template TEXT, count INTEGER NOT NULL, duration INTEGER NOT NULL,
    PRIMARY KEY (day, namespace, phase, template)
  ) WITHOUT ROWID;
  `,
  `
  -- Rows by the time of their creation, in buckets of several sizes (unit, in ms); namespace '' is all together.
  CREATE TABLE created (
    namespace TEXT, unit INTEGER, at INTEGER, phase TEXT, count INTEGER NOT NULL,
    PRIMARY KEY (namespace, unit, at, phase)
  ) WITHOUT ROWID;
  WITH
    units (unit) AS (VALUES (1000), (60000), (3600000), (86400000)),
    places AS (SELECT namespace, created_at, phase FROM archived UNION ALL SELECT '', created_at, phase FROM archived)
  INSERT INTO created
    SELECT namespace, unit, created_at / unit * unit AS begins, phase, count(*) FROM places JOIN units
    GROUP BY namespace, unit, begins, phase;

  -- Workflows that the store has too: not yet left (back = 0), or back again.
  CREATE TABLE live (uid TEXT PRIMARY KEY, back INTEGER NOT NULL) WITHOUT ROWID;
  `,
];
