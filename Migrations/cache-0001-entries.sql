-- cache.sqlite, level 1: the values of queries. Disposable; the section numbers are those of the
-- behaviour that a table serves in "Persistence".
--
-- Dates are integer microseconds since 1970, by the clock of the query's context. Hashes and
-- checksums are XXH3-128, 16 bytes, big end first. All tables are rowid tables: one keyed by its
-- hash costs five times as much an insert.

-- 'QRca': what marks the file as ours (2).
PRAGMA application_id = 1364353889;
PRAGMA user_version = 1;

-- Which steps made this schema (8). The level of the file is the highest number here.
CREATE TABLE migrations (
  level INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  checksum BLOB NOT NULL,               -- over the bytes of the step's SQL
  applied_at INTEGER NOT NULL
) STRICT;

-- An account (10), its change counter (4, 9) and its totals (7). Its row is written where the counter
-- changes without a row of entries that shows it: where an entry is removed or used. The newest number
-- is the greatest one of revision, of the revisions of its entries and of those of its confirmations. The
-- totals are those of this row, or of the entry with the greatest revision if that is newer: a written entry
-- has them itself, so that it costs no frame of this table, and a confirmation changes none.
CREATE TABLE partitions (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  epoch INTEGER NOT NULL DEFAULT 0,     -- raised by erase(); a write with an older one is dropped
  -- What erase() has left: 0 nothing, 1 bytes of old rows, 2 rows to delete.
  is_erasing INTEGER NOT NULL DEFAULT 0,
  revision INTEGER NOT NULL DEFAULT 0,  -- given to every change of an entry, its removal and its use
  entry_count INTEGER NOT NULL DEFAULT 0,
  byte_count INTEGER NOT NULL DEFAULT 0
) STRICT;

-- What is known of one query (4, 6). For an infinite query the value is in its pages.
-- The small columns come first, so that a scan that wants no value does not read its pages.
CREATE TABLE entries (
  id INTEGER PRIMARY KEY,
  partition INTEGER NOT NULL REFERENCES partitions (id),
  hash BLOB NOT NULL,                   -- of the identity's text (3)
  revision INTEGER NOT NULL,            -- of the partition, when this row was last written (4, 9)
  total_entries INTEGER NOT NULL DEFAULT 0, -- entries and bytes of the partition after that (7)
  total_bytes INTEGER NOT NULL DEFAULT 0,
  kind TEXT NOT NULL,                   -- 'query', 'infinite', or one of an own paradigm
  coder TEXT NOT NULL,
  value_version INTEGER NOT NULL,
  value_updated_at INTEGER,             -- NULL: never had a value
  value_update_count INTEGER NOT NULL DEFAULT 0,
  error_updated_at INTEGER,             -- NULL: never failed
  error_update_count INTEGER NOT NULL DEFAULT 0,
  invalidated_at INTEGER NOT NULL DEFAULT 0, -- microseconds since the machine's start (CLOCK_BOOTTIME),
                                        -- at least 1; 0: it is not
  is_pinned INTEGER NOT NULL DEFAULT 0,
  expires_at INTEGER,                   -- NULL: has no maxAge
  fresh_for INTEGER,                    -- microseconds; NULL: the query's modifiers say it
  last_use INTEGER,                     -- a number of the same counter (7); NULL: never used
  byte_count INTEGER NOT NULL,          -- of text, error, value and pages
  checksum BLOB,                        -- over the value; if it is in pages, over next and
                                        -- previous ids and the pages' checksums; NULL: no value.
                                        -- With metadata, over that checksum and the metadata's
  identity TEXT NOT NULL,               -- compared at each read: a collision is a miss (3)
  error_type TEXT,                      -- of the last error, while it is the newest result (6)
  error_text TEXT,
  next_page_id BLOB,                    -- of an infinite query, coded; NULL: there is none
  previous_page_id BLOB,
  -- How much of the outbox's history the value has (optimistic state): what ended later is laid over
  -- it. NULL: not known. And the keys that its server said it includes, a line each.
  outbox_sequence INTEGER,
  included_keys TEXT,
  metadata BLOB,                        -- what the request finds again with its value; NULL: nothing
  value BLOB                            -- NULL: there is none, or it is in the pages
) STRICT;

-- The one read of hydration (6), the stamp that a write compares with, and all entries under a path,
-- whose texts are two ranges (prefetch, invalidation). By the text and not by its hash, so that
-- neighbours share a leaf: a new entry costs a frame if it is alone in its commit, and a seventieth
-- of one among its neighbours; by its hash, each touches another leaf. A change costs nothing.
CREATE UNIQUE INDEX entries_by_identity ON entries (partition, identity);
-- What changed since a revision (9), the newest number of a partition, and what to evict (7). A new
-- entry costs one frame, a change two: where it was and where it is.
CREATE INDEX entries_by_revision ON entries (partition, revision);
-- What to evict (7): expired ones first, then those that were written or used longest ago, by the
-- greater one of revision and last_use. The first costs nothing without a maxAge; the second nothing
-- for what was never used, and two frames for a use that is recorded.
CREATE INDEX entries_by_expiry ON entries (partition, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX entries_by_use ON entries (partition, last_use) WHERE last_use IS NOT NULL;

-- What a fetch has changed that has found the value as it is stored, and nothing else of the entry: when it
-- was known last, and how often. It counts as long as its revision is greater than its entry's. Apart from
-- the entries, so that it costs one frame, and a hundred of them a few instead of one each. No index but its
-- key, which would cost another one: to find the newest all of them are read, so that there are at most
-- 500. What finds no place here is written into its entry's row.
CREATE TABLE confirmations (
  entry INTEGER PRIMARY KEY REFERENCES entries (id) ON DELETE CASCADE,
  partition INTEGER NOT NULL,           -- the entry's
  revision INTEGER NOT NULL,            -- of the partition, when it was confirmed
  value_updated_at INTEGER NOT NULL,    -- these three in the place of the entry's
  value_update_count INTEGER NOT NULL,
  fresh_for INTEGER
) STRICT;

-- A page of an infinite query (4). Positions leave gaps, so that a page in front moves no other.
-- Also a value of more than 3 000 bytes, alone and with an empty id: where its entry's row becomes
-- longer, as by an error, it is not written again.
CREATE TABLE pages (
  id INTEGER PRIMARY KEY,
  entry INTEGER NOT NULL REFERENCES entries (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  checksum BLOB NOT NULL,               -- over the hashes of page_id and of value; with metadata, over
                                        -- that and the metadata's
  page_id BLOB NOT NULL,                -- coded
  metadata BLOB,                        -- as that of an entry
  value BLOB NOT NULL
) STRICT;

-- The pages of an entry, in their order. A new page costs a frame, a changed one nothing.
CREATE UNIQUE INDEX pages_by_position ON pages (entry, position);

-- What could not be read, kept for a person to look at (6): at most 100 rows, 16 MiB, 30 days.
CREATE TABLE quarantine (
  id INTEGER PRIMARY KEY,
  partition INTEGER NOT NULL REFERENCES partitions (id),
  hash BLOB NOT NULL,
  quarantined_at INTEGER NOT NULL,
  reason TEXT NOT NULL,                 -- 'version', 'coder', 'undecodable' or 'checksum'
  message TEXT,
  kind TEXT NOT NULL,
  coder TEXT NOT NULL,
  value_version INTEGER NOT NULL,
  position INTEGER,                     -- of a page; NULL: the entry itself
  byte_count INTEGER NOT NULL,
  checksum BLOB,                        -- as it was in the row, right or wrong
  identity TEXT NOT NULL,
  page_id BLOB,
  value BLOB
) STRICT;

-- By age, for the three limits; the whole key of one partition, for erase().
CREATE INDEX quarantine_by_date ON quarantine (partition, quarantined_at);

-- A list of queries that is kept whole on this machine, until it is removed (7). What is in one is
-- not evicted.
CREATE TABLE packs (
  id INTEGER PRIMARY KEY,
  partition INTEGER NOT NULL REFERENCES partitions (id),
  uuid BLOB NOT NULL,                   -- another one for a pack of the same name that was kept anew
  generation INTEGER NOT NULL,          -- of its list: a member with an older one leaves
  created_at INTEGER NOT NULL,
  ends_at INTEGER,                      -- NULL: kept until it is removed
  refresh_every INTEGER,                -- microseconds; NULL: a member that is there is not fetched again
  network TEXT NOT NULL,                -- 'any' or 'unmetered'
  name TEXT NOT NULL
) STRICT;

-- The pack of a name.
CREATE UNIQUE INDEX packs_by_name ON packs (partition, name);

-- A query of a pack. It stands here before its entry does.
CREATE TABLE pack_members (
  id INTEGER PRIMARY KEY,
  pack INTEGER NOT NULL REFERENCES packs (id) ON DELETE CASCADE,
  partition INTEGER NOT NULL REFERENCES partitions (id),
  generation INTEGER NOT NULL,
  hash BLOB NOT NULL,                   -- of the identity's text
  state INTEGER NOT NULL,               -- 0 to be fetched, 1 there, 2 failed, 3 waits for its code
  byte_count INTEGER NOT NULL DEFAULT 0, -- of its entry, when it was last fetched
  done_at INTEGER,                      -- NULL: never
  begun_at INTEGER,                     -- when it was first claimed since it was last there
  claimed_at INTEGER,
  claimed_by TEXT,                      -- the owner file of the process that fetches it; NULL: none does
  pages INTEGER,                        -- how many, -1 all; NULL: not an infinite query
  identity TEXT NOT NULL,
  request_name TEXT,                    -- what the request is made of in a later launch; NULL: of code
  request BLOB,
  error TEXT                            -- of the last attempt, if it failed
) STRICT;

-- A list that is kept again finds its members.
CREATE UNIQUE INDEX pack_members_by_pack ON pack_members (pack, hash);
-- Whether an entry is in a pack, and how many bytes all packs of an account have, each query once.
CREATE INDEX pack_members_by_hash ON pack_members (partition, hash, byte_count);
-- What to fetch next, and the counts of a pack.
CREATE INDEX pack_members_by_state ON pack_members (pack, state, claimed_by, done_at, byte_count);
-- Which processes fetch for a pack.
CREATE INDEX pack_members_by_owner ON pack_members (pack, claimed_by) WHERE claimed_by IS NOT NULL;

-- By what the WAL beside this file is known to be its own (8): SQLite takes any valid one. The
-- first commit of each WAL moves `current` to `previous`, and writes a new random value. One row.
CREATE TABLE log_link (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  previous BLOB NOT NULL DEFAULT x'',
  current BLOB NOT NULL DEFAULT (randomblob(16))
) STRICT;

INSERT INTO log_link (id) VALUES (1);
