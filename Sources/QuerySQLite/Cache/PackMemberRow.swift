import Foundation
import Query

/// A query of a pack in `cache.sqlite`, as it is claimed.
package struct PackMemberRow {
  /// What is to be done for it.
  enum State: Int64 {
    case waiting = 0
    case done = 1
    case failed = 2
    case unregistered = 3
  }

  let id: Int64
  let member: PackClaim.Member

  /// Reads a row of ``readFree``.
  init(_ row: SQLiteStatement) throws {
    self.id = try row.integer(at: 0)
    var request: PackedRequest?
    if let name = try row.optionalText(at: 2), let data = try row.optionalData(at: 3) {
      request = PackedRequest(name: name, data: data)
    }
    self.member = PackClaim.Member(
      identity: QueryIdentity(canonicalText: try row.text(at: 1)), request: request,
      pages: try row.optionalInteger(at: 4).map { PackPages(number: Int(clamping: $0)) },
      begunAt: try row.optionalInteger(at: 5).map { Date(microsecondsSince1970: $0) },
      isRefresh: try row.integer(at: 6) == State.done.rawValue)
  }
}

// MARK: - The list

extension PackMemberRow {
  /// Pack, partition, generation, hash, pages, identity, request's name and bytes: adds a member, or
  /// keeps one of the list before. One that is there is fetched again if it is to have other pages.
  static let keep: SQL = """
    INSERT INTO pack_members (pack, partition, generation, hash, state, pages, identity, request_name,
      request)
    VALUES (?, ?, ?, ?, 0, ?, ?, ?, ?)
    ON CONFLICT (pack, hash) DO UPDATE SET generation = excluded.generation,
      state = CASE WHEN state = 1 AND pages IS excluded.pages THEN 1 ELSE 0 END,
      pages = excluded.pages, request_name = excluded.request_name, request = excluded.request,
      error = NULL
    """

  /// Pack, generation: removes what the list does not have any more.
  static let leave: SQL = """
    DELETE FROM pack_members INDEXED BY pack_members_by_pack WHERE pack = ? AND generation <> ?
    """

  /// Partition: one of its members. Id, bytes.
  static let readAny: SQL = """
    SELECT id, length(CAST(identity AS BLOB)) + coalesce(length(request), 0)
    FROM pack_members INDEXED BY pack_members_by_hash WHERE partition = ? LIMIT 1
    """

  /// Id.
  static let delete: SQL = "DELETE FROM pack_members WHERE id = ?"
}

// MARK: - Counts

extension PackMemberRow {
  /// Pack. State, count, bytes, claims, the oldest date.
  package static let count: SQL = """
    SELECT state, count(*), total(byte_count), count(claimed_by), min(done_at)
    FROM pack_members INDEXED BY pack_members_by_state WHERE pack = ? GROUP BY state
    """

  /// Pack. The error of one that failed.
  package static let readError: SQL = """
    SELECT error FROM pack_members INDEXED BY pack_members_by_state
    WHERE pack = ? AND state = 2 LIMIT 1
    """

  /// Partition. The queries of all packs, and their bytes.
  static let countAll: SQL = """
    SELECT count(*), total(bytes) FROM (
      SELECT max(byte_count) AS bytes FROM pack_members INDEXED BY pack_members_by_hash
      WHERE partition = ? GROUP BY hash)
    """
}

// MARK: - Claims

extension PackMemberRow {
  /// Pack. The owners of claims.
  static let readOwners: SQL = """
    SELECT DISTINCT claimed_by FROM pack_members INDEXED BY pack_members_by_owner
    WHERE pack = ? AND claimed_by IS NOT NULL
    """

  /// Pack, owner: its claims end.
  static let free: SQL = """
    UPDATE pack_members INDEXED BY pack_members_by_owner SET claimed_by = NULL
    WHERE pack = ? AND claimed_by = ?
    """

  /// Pack, the earliest and the latest date of a claim that counts.
  static let freeOld: SQL = """
    UPDATE pack_members INDEXED BY pack_members_by_owner SET claimed_by = NULL
    WHERE pack = ? AND claimed_by IS NOT NULL AND NOT claimed_at BETWEEN ? AND ?
    """

  /// Pack, state, limit: members in a state that nobody fetches. See ``init(_:)``.
  static let readFree: SQL = """
    SELECT id, identity, request_name, request, pages, begun_at, state
    FROM pack_members INDEXED BY pack_members_by_state
    WHERE pack = ? AND state = ? AND claimed_by IS NULL LIMIT ?
    """

  /// Pack, date, limit: members that were fetched before it, and that nobody fetches. See ``init(_:)``.
  static let readDue: SQL = """
    SELECT id, identity, request_name, request, pages, begun_at, state
    FROM pack_members INDEXED BY pack_members_by_state
    WHERE pack = ? AND state = 1 AND claimed_by IS NULL AND done_at <= ? LIMIT ?
    """

  /// Owner, date, id.
  static let claim: SQL = """
    UPDATE pack_members SET claimed_by = ?1, claimed_at = ?2, begun_at = coalesce(begun_at, ?2)
    WHERE id = ?3
    """
}

// MARK: - Results

extension PackMemberRow {
  /// Pack, hash. Id, state, claimed_by, pages; the bytes of its entry, if that has a value.
  static let readResult: SQL = """
    SELECT m.id, m.state, m.claimed_by, m.pages,
      (SELECT e.byte_count FROM entries AS e
        WHERE e.partition = m.partition AND e.identity = m.identity AND e.checksum IS NOT NULL)
    FROM pack_members AS m INDEXED BY pack_members_by_pack WHERE m.pack = ? AND m.hash = ?
    """

  /// State, bytes, date, error, id: ends the claim.
  static let settle: SQL = """
    UPDATE pack_members SET state = ?1, byte_count = coalesce(?2, byte_count),
      done_at = coalesce(?3, done_at), error = ?4, claimed_by = NULL, claimed_at = NULL,
      begun_at = CASE WHEN ?1 = 1 THEN NULL ELSE begun_at END WHERE id = ?5
    """

  /// Bytes, date, id: the claim goes on.
  static let advance: SQL = """
    UPDATE pack_members SET byte_count = ?, claimed_at = ? WHERE id = ?
    """

  /// Pack: what failed or has no code is tried again.
  static let retryFailed: SQL = """
    UPDATE pack_members SET state = 0, error = NULL WHERE pack = ? AND state IN (2, 3)
    """

  /// Pack: what could not be fetched again is due.
  static let retryRefreshes: SQL = """
    UPDATE pack_members INDEXED BY pack_members_by_state SET done_at = 0, error = NULL
    WHERE pack = ? AND state = 1 AND error IS NOT NULL
    """

  /// Pack: what has no entry any more is fetched again.
  static let retryLost: SQL = """
    UPDATE pack_members INDEXED BY pack_members_by_state SET state = 0, byte_count = 0, done_at = NULL,
      begun_at = NULL
    WHERE pack = ? AND state = 1 AND NOT EXISTS (
      SELECT 1 FROM entries AS e WHERE e.partition = pack_members.partition
        AND e.identity = pack_members.identity AND e.checksum IS NOT NULL)
    """

  /// Partition, id of an entry that is about to be removed: it is fetched again.
  static let lose: SQL = """
    UPDATE pack_members INDEXED BY pack_members_by_hash SET state = 0, byte_count = 0, done_at = NULL,
      begun_at = NULL
    WHERE partition = ? AND hash = (SELECT hash FROM entries WHERE id = ?) AND state = 1
    """
}
