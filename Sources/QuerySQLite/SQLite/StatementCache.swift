/// The most recently used prepared statements of one connection.
///
/// A statement in use is not given out a second time: a caller that asks for it meanwhile gets nil,
/// and prepares another, which is finalised after its use.
final class StatementCache {
  /// How many statements are kept at most.
  let capacity: Int

  private var entries = [UInt: SQLiteStatement]()
  private var uses = 0

  init(capacity: Int) { self.capacity = max(capacity, 1) }

  /// How many statements are kept now.
  var count: Int { self.entries.count }

  /// The cached statement of a text, if it is not in use.
  func statement(for sql: SQL) -> SQLiteStatement? {
    guard let statement = self.entries[sql.address], !statement.isInUse else { return nil }
    self.uses += 1
    statement.lastUse = self.uses
    return statement
  }

  /// Caches a statement, and finalises the least recently used one if the cache is full.
  ///
  /// - Returns: Whether it is cached: not if the text already has a statement, or all are in use.
  /// - Complexity: O(*capacity*) if the cache is full.
  func insert(_ statement: SQLiteStatement, for sql: SQL) -> Bool {
    if self.entries[sql.address] != nil { return false }
    if self.entries.count >= self.capacity {
      let idle = self.entries.filter { !$0.value.isInUse }
      guard let oldest = idle.min(by: { $0.value.lastUse < $1.value.lastUse }) else { return false }
      self.entries.removeValue(forKey: oldest.key)?.finalise()
    }
    self.uses += 1
    statement.lastUse = self.uses
    self.entries[sql.address] = statement
    return true
  }

  /// Removes a statement, which its user finalises.
  func remove(_ sql: SQL) { self.entries.removeValue(forKey: sql.address) }

  /// Finalises all statements that are not in use, and removes the others.
  func removeAll() {
    for statement in self.entries.values where !statement.isInUse { statement.finalise() }
    self.entries = [:]
  }
}
