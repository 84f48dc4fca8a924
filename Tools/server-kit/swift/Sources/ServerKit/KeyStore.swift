/// A connection to the database that has what the writes change. It is used by one task at a time.
public protocol KeyDatabase {
  /// Which SQL it speaks, and how a write learns that the same one is under way.
  var dialect: KeyStore.Dialect { get }

  /// Runs a statement.
  ///
  /// - Parameters:
  ///   - statement: It has a `?` for each value, and no other.
  ///   - values: All as text, as the database converts it.
  /// - Throws: ``KeyStore/Busy`` if the database is locked; what the database reports.
  func rows(_ statement: String, _ values: [String]) throws -> [[String]]
}

/// The keys of writes, and how each was answered: the server's half of "once". Its table is that of
/// `idempotency.sql`.
public struct KeyStore {
  public enum Dialect: Sendable { case sqlite, postgresql }

  /// What to do with a write.
  public enum State: Hashable, Sendable {
    /// Carry it out, call ``KeyStore/finish(_:_:_:status:body:)``, and commit.
    case new
    /// Answer as it was answered before.
    case done(status: Int, body: String)
    /// One with this key is under way: 409, with Retry-After.
    case running
    /// The key belongs to another write: 422.
    case mismatch
  }

  /// The lock of the database could not be had in time.
  public struct Busy: Error { public init() {} }

  private let database: any KeyDatabase
  private let now: () -> Int

  /// - Parameters:
  ///   - database: The connection of this write.
  ///   - now: The seconds since 1970.
  public init(_ database: any KeyDatabase, now: @escaping () -> Int) {
    (self.database, self.now) = (database, now)
  }

  /// Opens the write's transaction, and says what to do in it; it is the caller's to end. For
  /// ``State/running`` none is open.
  ///
  /// - Parameters:
  ///   - key: The value of `Idempotency-Key`.
  ///   - account: Whose it is, as the server knows the caller.
  ///   - fingerprint: A digest of method, path and body.
  /// - Throws: What the database throws.
  public func begin(_ key: String, _ account: String, _ fingerprint: String) throws -> State {
    switch self.database.dialect {
    case .sqlite:
      do { _ = try self.database.rows("BEGIN IMMEDIATE", []) } catch is Busy { return .running }
    case .postgresql:
      _ = try self.database.rows("BEGIN", [])
      let lock = "SELECT pg_try_advisory_xact_lock(hashtextextended(?, 0))"
      if try self.database.rows(lock, ["\(account)\u{1f}\(key)"]) == [["f"]] {
        _ = try self.database.rows("ROLLBACK", [])
        return .running
      }
    }
    let known = try self.database.rows(
      "SELECT fingerprint, status, body FROM idempotency WHERE account = ? AND key = ?",
      [account, key])
    guard let row = known.first else { return .new }
    guard row[0] == fingerprint, let status = Int(row[1]) else { return .mismatch }
    return .done(status: status, body: row[2])
  }

  /// Stores the answer, in the transaction that carried the write out.
  ///
  /// - Throws: What the database throws.
  public func finish(
    _ key: String, _ account: String, _ fingerprint: String, status: Int, body: String
  ) throws {
    _ = try self.database.rows(
      "INSERT INTO idempotency VALUES (?, ?, ?, ?, ?, ?)",
      [account, key, fingerprint, "\(status)", body, "\(self.now())"])
  }

  /// The keys of the last hour, for `Idempotency-Applied`. Call it in the transaction that reads what
  /// is answered, so that both are of one moment: on PostgreSQL one that begins with
  /// `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`, on SQLite with `BEGIN`.
  ///
  /// - Throws: What the database throws.
  public func applied(to account: String) throws -> [String] {
    try self.database.rows(
      "SELECT key FROM idempotency WHERE account = ? AND at > ? ORDER BY at DESC LIMIT 100",
      [account, "\(self.now() - 3_600)"]
    ).map { $0[0] }.filter { !$0.contains(",") }  // It would be read as two.
  }

  /// Deletes what is kept no longer than thirty days: now and then, outside a write.
  ///
  /// - Throws: What the database throws.
  public func forget() throws {
    _ = try self.database.rows(
      "DELETE FROM idempotency WHERE at < ?", ["\(self.now() - 30 * 86_400)"])
  }
}
