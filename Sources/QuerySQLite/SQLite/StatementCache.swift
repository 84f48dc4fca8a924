/// The prepared statements of one connection, the most recently used ones.
///
/// A statement that is in use is not given out a second time: who asks for it meanwhile gets nil,
/// and prepares one that is finalised after its use.
final class StatementCache {
  /// How many are kept.
  let capacity: Int

  private var entries = [UInt: SQLiteStatement]()
  private var uses = 0

  init(capacity: Int) { self.capacity = max(capacity, 1) }

  /// How many are kept now.
  var count: Int { self.entries.count }

  /// The statement of a text, where it is kept and not in use.
  func statement(for sql: SQL) -> SQLiteStatement? {
    guard let statement = self.entries[sql.address], !statement.isInUse else { return nil }
    self.uses += 1
    statement.lastUse = self.uses
    return statement
  }

  /// Keeps a statement, and finalises the one that was not used for the longest time where there
  /// would be too many.
  ///
  /// - Returns: Whether it is kept: not where the text's own is in use, or all are.
  /// - Complexity: O(*capacity*) where the cache is full.
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

  /// Forgets a statement, which its user finalises.
  func remove(_ sql: SQL) { self.entries.removeValue(forKey: sql.address) }

  /// Finalises all that are not in use, and forgets the others.
  func removeAll() {
    for statement in self.entries.values where !statement.isInUse { statement.finalise() }
    self.entries = [:]
  }
}
