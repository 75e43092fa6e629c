/**
 * Tables of the SQLite adapter. A released step never changes: a new version of the program adds steps at the end, and
 * opening a store runs the steps it lacks.
 */

/** SQL of each schema version; the first one makes version 1. */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE replica (name TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE shard (
    shard INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, owner TEXT, until INTEGER NOT NULL, cursor TEXT NOT NULL
  );
  CREATE TABLE mail (
    shard INTEGER, seq INTEGER, command TEXT NOT NULL, PRIMARY KEY (shard, seq)
  ) WITHOUT ROWID;
  CREATE TABLE outbox (
    shard INTEGER, id TEXT, text TEXT NOT NULL, PRIMARY KEY (shard, id)
  ) WITHOUT ROWID;
  CREATE TABLE timer (
    shard INTEGER, id TEXT, due INTEGER NOT NULL, PRIMARY KEY (shard, id)
  ) WITHOUT ROWID;
  CREATE TABLE answer (
    shard INTEGER, key TEXT, fingerprint TEXT NOT NULL, answer TEXT NOT NULL, expires_at INTEGER NOT NULL,
    PRIMARY KEY (shard, key)
  ) WITHOUT ROWID;
  CREATE INDEX answer_expiry ON answer (expires_at);

  -- index_entry is JSON; absent for actors that are never listed.
  CREATE TABLE actor (
    row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, uid TEXT, index_entry TEXT
  );
  CREATE INDEX actor_uid ON actor (uid) WHERE uid IS NOT NULL;
  CREATE TABLE part (
    actor INTEGER, key TEXT, text TEXT NOT NULL, PRIMARY KEY (actor, key)
  ) WITHOUT ROWID;
  -- Every listed actor under each of its terms, in the order of lists.
  CREATE TABLE term (
    term TEXT, created_at INTEGER, id TEXT, PRIMARY KEY (term, created_at DESC, id DESC)
  ) WITHOUT ROWID;
  -- change is JSON of put, drop and index.
  CREATE TABLE feed (
    version INTEGER PRIMARY KEY, type TEXT NOT NULL, id TEXT NOT NULL, change TEXT NOT NULL
  );

  CREATE TABLE manifest (
    kind TEXT, namespace TEXT, name TEXT, version INTEGER NOT NULL, text TEXT NOT NULL, labels TEXT NOT NULL,
    PRIMARY KEY (kind, namespace, name)
  ) WITHOUT ROWID;

  -- In work when touched_at is set; waiting for a retry when at is set.
  CREATE TABLE event (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, namespace TEXT NOT NULL, discriminator TEXT NOT NULL,
    text TEXT NOT NULL, received_at INTEGER NOT NULL, size INTEGER, attempts INTEGER NOT NULL,
    worker TEXT, touched_at INTEGER, at INTEGER
  );
  CREATE TABLE dedupe (
    key TEXT PRIMARY KEY, id TEXT NOT NULL, fingerprint TEXT NOT NULL, expires_at INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX dedupe_expiry ON dedupe (expires_at);
  CREATE TABLE delivery (
    id TEXT PRIMARY KEY, namespace TEXT NOT NULL, received_at INTEGER NOT NULL, state TEXT NOT NULL,
    record TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX delivery_time ON delivery (namespace, received_at DESC, id DESC);
  CREATE INDEX delivery_state ON delivery (namespace, state, received_at DESC, id DESC);

  -- A blob is the pieces of its key one after the other, so that appending writes the new piece only.
  CREATE TABLE blob (key TEXT, start INTEGER, piece BLOB NOT NULL, PRIMARY KEY (key, start));
  `,
  "ALTER TABLE answer ADD COLUMN version TEXT",
  "CREATE INDEX timer_due ON timer (shard, due)",
  // The term for entries that are not labelled as completed.
  `
  INSERT INTO term SELECT 'o', json_extract(index_entry, '$.createdAt'), id FROM actor
  WHERE index_entry IS NOT NULL
    AND coalesce(json_extract(index_entry, '$.labels."workflows.argoproj.io/completed"'), '') <> 'true'
  `,
  // The earlier feed is dropped: who watches lists again.
  `
  DROP TABLE feed;
  INSERT OR REPLACE INTO counter SELECT 'floor', value FROM counter WHERE name = 'version';
  -- end is where the change ends when the changes since the beginning are laid end to end. change: see feed.ts.
  CREATE TABLE feed (
    version INTEGER PRIMARY KEY, type TEXT NOT NULL, id TEXT NOT NULL, "end" INTEGER NOT NULL, index_entry TEXT,
    change TEXT NOT NULL
  );

  -- Texts that many parts have in common; row is a checksum of the text.
  CREATE TABLE shared (row INTEGER PRIMARY KEY, text TEXT NOT NULL, uses INTEGER NOT NULL);
  ALTER TABLE part RENAME TO old_part;
  -- Either text or shared is NULL.
  CREATE TABLE part (
    actor INTEGER, key TEXT, text TEXT, shared INTEGER, PRIMARY KEY (actor, key)
  ) WITHOUT ROWID;
  INSERT INTO part SELECT actor, key, text, NULL FROM old_part;
  DROP TABLE old_part;
  CREATE TRIGGER unshare AFTER DELETE ON part WHEN old.shared IS NOT NULL BEGIN
    UPDATE shared SET uses = uses - 1 WHERE row = old.shared;
    DELETE FROM shared WHERE row = old.shared AND uses = 0;
  END;
  `,
  // The term for entries with a step that waits, ordered by the negative of the time since when it does.
  `
  UPDATE actor SET index_entry = json_set(index_entry, '$.waitsSince', waits.since)
  FROM (
    SELECT actor, min(json_extract(text, '$.startedAt')) AS since FROM part
    WHERE key LIKE 'n:%' AND text LIKE '%"Suspend"%' AND CASE WHEN json_valid(text) THEN
      json_extract(text, '$.type') = 'Suspend' AND json_extract(text, '$.phase') = 'Running'
      AND json_type(text, '$.startedAt') = 'integer'
    END
    GROUP BY actor
  ) AS waits
  WHERE row = waits.actor AND CASE WHEN json_valid(index_entry) THEN
    json_extract(index_entry, '$.phase') IN ('Pending', 'Running')
  END;
  INSERT INTO term SELECT 'w', -json_extract(index_entry, '$.waitsSince'), id FROM actor
  WHERE CASE WHEN json_valid(index_entry) THEN json_extract(index_entry, '$.waitsSince') END IS NOT NULL
  `,
];
