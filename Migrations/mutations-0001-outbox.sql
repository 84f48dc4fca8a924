-- mutations.sqlite, level 1: what the user entered and no server has acknowledged yet. Precious;
-- the section numbers are those of the behaviour that a table serves in "Durable mutations".
--
-- Three clocks, all integer microseconds: `…_at` is wall time since 1970 and informs people;
-- `…_boottime` is CLOCK_BOOTTIME and `…_monotonic` is CLOCK_MONOTONIC, both of the boot whose id
-- stands beside them. Checksums are XXH3-128, 16 bytes, big end first. Identifiers are UUIDs, 16
-- bytes. Lists of words are open: a later release may add one.

-- 'QRmu': what marks the file as ours (persistence 2).
PRAGMA application_id = 1364356469;
PRAGMA user_version = 1;

-- Which steps made this schema (persistence 8). The level of the file is the highest number here.
CREATE TABLE migrations (
  level INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  checksum BLOB NOT NULL,               -- over the bytes of the step's SQL
  applied_at INTEGER NOT NULL
) STRICT;

-- An account (persistence 10), what its processes share, and the totals of its rows and of its
-- history (9), so that nobody has to count them.
CREATE TABLE partitions (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  epoch INTEGER NOT NULL DEFAULT 0,     -- raised by erase(); a settle with an older one is dropped
  -- What erase() has left: 0 nothing, 1 bytes of old rows, 2 rows to delete.
  is_erasing INTEGER NOT NULL DEFAULT 0,
  revision INTEGER NOT NULL DEFAULT 0,  -- raised by every change of the outbox (6: changes)
  credentials_epoch INTEGER NOT NULL DEFAULT 0, -- raised by credentialsChanged() (5)
  paused_at INTEGER,                    -- pause() (6); NULL: not paused
  pending_count INTEGER NOT NULL DEFAULT 0,
  leased_count INTEGER NOT NULL DEFAULT 0,
  dead_count INTEGER NOT NULL DEFAULT 0,
  history_count INTEGER NOT NULL DEFAULT 0,
  history_bytes INTEGER NOT NULL DEFAULT 0,
  ill_hosts INTEGER NOT NULL DEFAULT 0, -- how many rows of `hosts` it has: 0 as a rule, and none is read
  -- The newest number and sequence that a row of the account was given: none comes back when its row is
  -- removed. Here and not by AUTOINCREMENT, whose counters are a page more in each commit.
  last_number INTEGER NOT NULL DEFAULT 0,
  last_sequence INTEGER NOT NULL DEFAULT 0,
  pause_count INTEGER NOT NULL DEFAULT 0, -- how many rows of `pauses` it has: 0 as a rule
  -- How often in a row more urgent mutations went before the one whose turn it was (4).
  overtakings INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The boot that `lane_heads.due_boottime` is of, and the latest wall time that was known to be
-- synchronised (10). One row.
CREATE TABLE clock (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  boot_id TEXT,
  synchronised_at INTEGER,
  probe INTEGER NOT NULL DEFAULT 0      -- 0 or 1: what a process changes to see whether it can write
) STRICT;

INSERT INTO clock (id) VALUES (1);

-- A mutation that is live or dead (2). The number orders (3), and one of a removed row never comes
-- back: see `partitions.last_number`. The row alone tells all that sending it needs, so that one that can be
-- read is one that can be salvaged (persistence 8).
CREATE TABLE outbox (
  number INTEGER PRIMARY KEY,
  partition INTEGER NOT NULL REFERENCES partitions (id),
  id BLOB NOT NULL,
  -- Fixed when it was enqueued (0); key and arguments change with a conflict's retry (5) alone.
  idempotency_key TEXT NOT NULL,
  name TEXT NOT NULL,
  instance TEXT NOT NULL,               -- the path's canonical text without type names
  version INTEGER NOT NULL,
  lane TEXT,                            -- NULL: a lane of its own
  host TEXT,                            -- NULL: the name counts as one
  on_failure TEXT NOT NULL,             -- 'continue' or 'halt'
  max_attempts INTEGER,                 -- NULL: unlimited
  max_age INTEGER,                      -- microseconds; NULL: unlimited
  coalesce TEXT NOT NULL,               -- 'none' or 'latest'
  priority INTEGER NOT NULL DEFAULT 0,  -- -1, 0 or 1: the higher goes first (4)
  created_at INTEGER NOT NULL,
  -- From when max_age counts (10): its creation, or the last retry by hand.
  age_at INTEGER NOT NULL,
  age_boottime INTEGER NOT NULL,
  age_boot_id TEXT NOT NULL,
  age_is_synchronised INTEGER NOT NULL, -- whether age_at can be relied on
  -- Where it stands (2).
  state TEXT NOT NULL,                  -- 'pending', 'leased' or 'dead'
  -- 0 or 1: whether it was ever pending or dead. Most mutations run at once, and never are.
  has_waited INTEGER NOT NULL DEFAULT 1,
  wait_reason TEXT,                     -- of a pending one
  dead_reason TEXT,                     -- of a dead one; NULL: it is not dead
  attempts INTEGER NOT NULL DEFAULT 0,  -- raised before the handler runs (4)
  failures INTEGER NOT NULL DEFAULT 0,  -- what max_attempts limits (5)
  -- Those of them that nobody can tell why, and from when the first of them counts.
  unknown_failures INTEGER NOT NULL DEFAULT 0,
  unknown_at INTEGER,
  unknown_boottime INTEGER,
  unknown_boot_id TEXT,
  unknown_is_synchronised INTEGER NOT NULL DEFAULT 0,
  crash_count INTEGER NOT NULL DEFAULT 0, -- five: 'crashLoop' (4)
  -- 0 or 1: whether it ran when its process died, as others did: it runs alone, until an attempt ends.
  is_suspect INTEGER NOT NULL DEFAULT 0,
  maybe_applied INTEGER NOT NULL DEFAULT 0,
  awaited_alias TEXT,                   -- what it waits for with 'dependency' (3)
  credentials_epoch INTEGER NOT NULL DEFAULT 0, -- when it was leased: a refusal of older ones (5)
  is_cancel_requested INTEGER NOT NULL DEFAULT 0, -- seen by the heartbeat of who holds it (4)
  -- When it may run again (5, 10). NULL: at once.
  due_at INTEGER,
  due_boottime INTEGER,
  due_boot_id TEXT,
  due_delay INTEGER,                    -- the wait's length, which no clock can make longer
  -- The process that runs it (4). Each claim raises the token, which stays.
  lease_owner TEXT,
  lease_token INTEGER NOT NULL DEFAULT 0,
  lease_end_monotonic INTEGER,
  lease_boot_id TEXT,
  lease_started_monotonic INTEGER,      -- in the boot of `lease_boot_id`
  attempt_started_at INTEGER,           -- of the attempt that runs, which `attempts` does not have yet
  last_failure TEXT,                    -- the class of the last attempt's failure
  failed_at INTEGER,
  last_error_type TEXT,
  last_error_text TEXT,
  -- Which queries its edits change (optimistic state), a line each: the text of the path, and * if all
  -- under it. NULL: it has none.
  edited_paths TEXT,
  coder TEXT NOT NULL,
  body_file TEXT,                       -- in `bodies/`, removed with the row (8)
  checksum BLOB NOT NULL,               -- over what is sent, where to, and which row it is
  arguments BLOB NOT NULL
) STRICT;

-- Each index is a frame more in the commit that adds a row to it, and one more in that which removes
-- it: a mutation that never waits is in `outbox_leased` alone, and a claim leaves the first two as they
-- are.

-- A ticket is made from the identifier alone (1).
CREATE UNIQUE INDEX outbox_by_id ON outbox (id) WHERE has_waited <> 0;
-- History of one mutation, and optimistic overlays (7, 9).
CREATE INDEX outbox_by_name ON outbox (partition, name, instance, number) WHERE has_waited <> 0;
-- The head of a lane, and what is behind it (3). By the reason of a death, since SQLite rewrites an index
-- whenever a column of its condition is assigned: a claim assigns the state alone.
CREATE INDEX outbox_by_lane ON outbox (partition, lane, number)
  WHERE lane IS NOT NULL AND (dead_reason IS NULL OR on_failure = 'halt');
-- Those that run, by identifier; and all of them, since they are few: rows to reap (4), of one mutation
-- (7, 9).
CREATE UNIQUE INDEX outbox_leased
  ON outbox (id, partition, lease_owner, lease_boot_id, lease_end_monotonic)
  WHERE state = 'leased';
-- Dead letters (2).
CREATE INDEX outbox_dead ON outbox (partition, number) WHERE state = 'dead';
-- Rows that wait for an alias (3).
CREATE INDEX outbox_awaiting ON outbox (partition, awaited_alias, number)
  WHERE awaited_alias IS NOT NULL;
-- Rows that wait for the network (5).
CREATE INDEX outbox_offline ON outbox (partition, number)
  WHERE state = 'pending' AND (wait_reason = 'offline' OR last_failure = 'connectivity');
-- Rows that wait for credentials (5).
CREATE INDEX outbox_refused ON outbox (partition, number)
  WHERE state = 'pending' AND wait_reason = 'authentication';
-- Rows whose arguments no program could read (4).
CREATE INDEX outbox_unreadable ON outbox (partition, number)
  WHERE state = 'pending' AND wait_reason = 'handler';
-- Rows that grow too old, by when they do in the boot in which their age began to count (10).
CREATE INDEX outbox_expiring ON outbox (partition, age_boot_id, age_boottime + max_age)
  WHERE max_age IS NOT NULL AND state = 'pending';
-- Rows with a body file, for the sweep of `bodies/` (8).
CREATE INDEX outbox_by_body ON outbox (body_file) WHERE body_file IS NOT NULL;

-- The first row of each lane that is live, or dead and halts it, and each pending row without a lane
-- (4): what a claim looks at instead of the outbox. Kept by the transactions that change the outbox;
-- can be made anew from it.
CREATE TABLE lane_heads (
  number INTEGER PRIMARY KEY REFERENCES outbox (number) ON DELETE CASCADE,
  partition INTEGER NOT NULL REFERENCES partitions (id),
  lane TEXT,
  name TEXT NOT NULL,
  instance TEXT NOT NULL,
  version INTEGER NOT NULL,
  host TEXT NOT NULL,                   -- the name's own where the row has none
  -- 'ready': may run once it is due; else what holds the lane: 'leased', 'dependency',
  -- 'authentication', 'handler' or 'halted'; 'paused': it would be ready, were its lane not paused.
  state TEXT NOT NULL,
  priority INTEGER NOT NULL DEFAULT 0,  -- the row's
  is_repeat INTEGER NOT NULL DEFAULT 0, -- whether a ready one was tried before
  -- In the boot that `clock` names: since when it is due, or when it will be. 0: it waits for no time; a
  -- claim makes that of one that was never tried 0 when its time has come.
  due_boottime INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE UNIQUE INDEX lane_heads_by_lane ON lane_heads (partition, lane) WHERE lane IS NOT NULL;
-- The claim (4): a seek or two for each registered handler, host and priority, however many rows belong to
-- others, or wait. Those that were never tried come first, by their number; the others are in the order
-- in which they became due, so that none is passed over for ever. Behind those that are due are those that
-- wait, so that it tells the next time to wake up too.
CREATE INDEX lane_heads_ready
  ON lane_heads (partition, name, instance, version, host, priority, is_repeat, due_boottime, number)
  WHERE state = 'ready';
-- Those that were never tried, and whose time has come.
CREATE INDEX lane_heads_due ON lane_heads (due_boottime)
  WHERE state = 'ready' AND is_repeat = 0 AND due_boottime > 0;

-- Hosts to which nothing is sent for a while, or one mutation as a probe (5): those that are not well. A
-- host that answers again has no row.
CREATE TABLE hosts (
  partition INTEGER NOT NULL REFERENCES partitions (id),
  host TEXT NOT NULL,                   -- as in `lane_heads`
  reason TEXT NOT NULL,                 -- 'unreachable', 'askedToWait' or 'refusedCredentials'
  failures INTEGER NOT NULL,            -- attempts in a row that failed for it
  -- Until when nothing is sent.
  due_at INTEGER NOT NULL,
  due_boottime INTEGER NOT NULL,
  due_boot_id TEXT NOT NULL,
  due_delay INTEGER NOT NULL,
  probe INTEGER,                        -- the number of the mutation that was sent last as a probe
  PRIMARY KEY (partition, host)
) STRICT, WITHOUT ROWID;

-- What is paused apart from all of an account (6), by lane, name or host.
CREATE TABLE pauses (
  partition INTEGER NOT NULL REFERENCES partitions (id),
  part TEXT NOT NULL,                   -- 'lane', 'name' or 'host', as in `lane_heads`
  value TEXT NOT NULL,
  paused_at INTEGER NOT NULL,
  PRIMARY KEY (partition, part, value)
) STRICT, WITHOUT ROWID;

-- dependsOn (3): an edge goes when its target succeeds, so a row with one has to wait.
CREATE TABLE dependencies (
  dependant INTEGER NOT NULL REFERENCES outbox (number) ON DELETE CASCADE,
  target INTEGER NOT NULL REFERENCES outbox (number),
  PRIMARY KEY (dependant, target)
) STRICT, WITHOUT ROWID;

CREATE INDEX dependencies_by_target ON dependencies (target, dependant);

-- Identifiers that a server assigned (3). Kept while a row up to `newest_number` is live, then for
-- the history's days.
CREATE TABLE aliases (
  id INTEGER PRIMARY KEY,
  partition INTEGER NOT NULL REFERENCES partitions (id),
  alias TEXT NOT NULL,
  value TEXT NOT NULL,
  publisher BLOB NOT NULL,              -- the mutation's id
  published_at INTEGER NOT NULL,
  newest_number INTEGER NOT NULL        -- of the outbox, when it was published
) STRICT;

CREATE UNIQUE INDEX aliases_by_alias ON aliases (partition, alias);
CREATE INDEX aliases_by_date ON aliases (partition, published_at);

-- Attempts of a mutation, live, dead or ended (9): the last 20. One that runs is told by the row of the
-- outbox, and the one that succeeded by that of the history: most mutations need no row here.
CREATE TABLE attempts (
  id INTEGER PRIMARY KEY,
  mutation BLOB NOT NULL,               -- the mutation's id: the row outlives the outbox's
  number INTEGER NOT NULL,              -- as `outbox.attempts`
  owner TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,                     -- NULL: its process died, or lost its lease
  class TEXT,                           -- 'succeeded' or the class of the failure (5)
  code INTEGER,                         -- of the error: an HTTP status, a URLError's code
  error_type TEXT,
  error_text TEXT,
  idempotency_key TEXT,                 -- what a conflict replaced (5); NULL: that of the row
  arguments BLOB,
  response BLOB                         -- the beginning of the answer, if the error has it: 4 KiB
) STRICT;

CREATE UNIQUE INDEX attempts_by_mutation ON attempts (mutation, number);

-- Processes that may hold a lease (4). The lock file in `owners/` tells whether one lives.
CREATE TABLE owners (
  owner TEXT PRIMARY KEY,               -- the name of its lock file
  boot_id TEXT NOT NULL,
  process INTEGER NOT NULL,             -- for people: in another namespace it means nothing
  started_at INTEGER NOT NULL
) STRICT;

-- A mutation that ended (2, 9). The result is what a store comes back with (persistence 6).
CREATE TABLE history (
  sequence INTEGER PRIMARY KEY,         -- see `partitions.last_sequence`
  partition INTEGER NOT NULL REFERENCES partitions (id),
  id BLOB NOT NULL,
  number INTEGER NOT NULL,              -- as it was in the outbox
  idempotency_key TEXT NOT NULL,
  name TEXT NOT NULL,
  instance TEXT NOT NULL,
  version INTEGER NOT NULL,
  lane TEXT,
  outcome TEXT NOT NULL,                -- 'succeeded', 'cancelled', 'superseded' or 'discarded'
  successor BLOB,                       -- of a superseded one: the id its ticket goes on with
  attempts INTEGER NOT NULL,
  maybe_applied INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  started_at INTEGER,                   -- of the last attempt; NULL: there was none
  ended_at INTEGER NOT NULL,
  error_type TEXT,
  error_text TEXT,
  effects TEXT,                         -- what the cache must still be told (5, 7); NULL: nothing
  -- As in the outbox, of a success: until every entry of these queries has it, it is not among those that
  -- go since there are 50 newer ones (9). NULL: none needs it.
  edited_paths TEXT,
  byte_count INTEGER NOT NULL,          -- of arguments, result and error
  coder TEXT NOT NULL,
  checksum BLOB NOT NULL,               -- over arguments, then result, and of which
  arguments BLOB NOT NULL,
  result BLOB
) STRICT;

CREATE UNIQUE INDEX history_by_id ON history (id);
-- 50 for each mutation, and what a store comes back with.
CREATE INDEX history_by_name ON history (partition, name, instance, sequence);
-- Effects that a crash left undone.
CREATE INDEX history_effects ON history (partition, sequence) WHERE effects IS NOT NULL;

-- Ended mutations that the history has forgotten (3): what succeeded is so for ever for those that
-- depend on it, and an identifier that a caller gave is not taken twice. Kept for 30 days or the history's,
-- of the last million that ended.
CREATE TABLE forgotten (
  id BLOB PRIMARY KEY,
  partition INTEGER NOT NULL REFERENCES partitions (id),
  sequence INTEGER NOT NULL,            -- as it was in the history
  outcome TEXT NOT NULL,
  successor BLOB,
  ended_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX forgotten_by_sequence ON forgotten (partition, sequence, ended_at);

-- Damaged files that were set aside, of which all that can be read is in this one (persistence 8). The
-- row is committed with what it tells of, so that nothing is salvaged twice.
CREATE TABLE salvages (
  name TEXT PRIMARY KEY,                -- of the file that was set aside
  salvaged_at INTEGER NOT NULL,
  is_whole INTEGER NOT NULL             -- whether nothing is known to be lost; else it is never deleted
) STRICT;

-- By what the WAL beside this file is known to be its own (persistence 8): SQLite takes any valid
-- one. The first commit of each WAL moves `current` to `previous`, and writes a new random value.
-- One row.
CREATE TABLE log_link (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  previous BLOB NOT NULL DEFAULT x'',
  current BLOB NOT NULL DEFAULT (randomblob(16))
) STRICT;

INSERT INTO log_link (id) VALUES (1);
