-- The keys of writes, and how each was answered: as it stands, for SQLite and for PostgreSQL. Run it once,
-- as you run your other migrations, in the database that has what the writes change: a row is committed
-- together with its write, or not at all.
CREATE TABLE IF NOT EXISTS idempotency (
  -- Whose key it is, as the server knows the caller: a key of one account says nothing about another's.
  account TEXT NOT NULL,
  key TEXT NOT NULL,
  -- A digest of method, path and body: the same key with another one is a mistake of the client's.
  fingerprint TEXT NOT NULL,
  -- The answer, which is given again.
  status INTEGER NOT NULL,
  body TEXT NOT NULL,
  -- When, in seconds since 1970.
  at BIGINT NOT NULL,
  PRIMARY KEY (account, key)
);

-- Finds what receipts name: the newest keys of an account.
CREATE INDEX IF NOT EXISTS idempotency_by_account ON idempotency (account, at);

-- Finds what is kept no longer.
CREATE INDEX IF NOT EXISTS idempotency_by_age ON idempotency (at);

-- What the two dialects have to do otherwise is how a write learns that the same one is under way, without
-- waiting for it. Each is the first statement of the write's transaction:
--
--   SQLite       BEGIN IMMEDIATE
--                One write at a time, whichever: SQLITE_BUSY, after the connection's time-out, is "one runs".
--   PostgreSQL   SELECT pg_try_advisory_xact_lock(hashtextextended(account || chr(31) || key, 0))
--                Of this key alone: false is "it runs". The lock ends with the transaction, even if the
--                server's process is killed.
--
-- Then, in both:
--
--   SELECT fingerprint, status, body FROM idempotency WHERE account = ? AND key = ?
--   … what the write does …
--   INSERT INTO idempotency VALUES (account, key, fingerprint, status, body, at)
--   COMMIT
--
-- and now and then, on its own:
--
--   DELETE FROM idempotency WHERE at < now - 30 days
