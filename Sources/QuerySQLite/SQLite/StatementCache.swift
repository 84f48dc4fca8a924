/// The most recently used prepared statements of one connection.
///
/// A statement in use is not given out a second time: a caller that asks for it meanwhile gets nil,
/// and prepares another, which is finalised after its use.
final class StatementCache {
  /// How many statements are kept at most.
  let capacity: Int

  /// The addresses of the texts, and their statements, in the same order: few enough to look through, while a
  /// dictionary with a key of its own costs a launch 50 µs.
  // Unchecked: looked through at each statement, and nothing is called meanwhile.
  @exclusivity(unchecked) private var addresses = [UInt]()
  @exclusivity(unchecked) private var statements = [SQLiteStatement]()
  @exclusivity(unchecked) private var uses = 0

  init(capacity: Int) { self.capacity = max(capacity, 1) }

  /// How many statements are kept now.
  var count: Int { self.statements.count }

  /// The cached statement of a text, if it is not in use.
  ///
  /// - Complexity: O(*capacity*).
  func statement(for sql: SQL) -> SQLiteStatement? {
    guard let index = self.addresses.firstIndex(of: sql.address) else { return nil }
    let statement = self.statements[index]
    if statement.isInUse { return nil }
    self.uses += 1
    statement.lastUse = self.uses
    return statement
  }

  /// Caches a statement, and finalises the least recently used one if the cache is full.
  ///
  /// - Returns: Whether it is cached: not if the text already has a statement, or all are in use.
  /// - Complexity: O(*capacity*).
  func insert(_ statement: SQLiteStatement, for sql: SQL) -> Bool {
    if self.addresses.contains(sql.address) { return false }
    if self.count >= self.capacity {
      let idle = self.statements.indices.filter { !self.statements[$0].isInUse }
      let oldest = idle.min { self.statements[$0].lastUse < self.statements[$1].lastUse }
      guard let oldest else { return false }
      self.remove(at: oldest).finalise()
    }
    self.uses += 1
    statement.lastUse = self.uses
    self.addresses.append(sql.address)
    self.statements.append(statement)
    return true
  }

  /// Removes a statement, which its user finalises.
  func remove(_ sql: SQL) {
    if let index = self.addresses.firstIndex(of: sql.address) { _ = self.remove(at: index) }
  }

  private func remove(at index: Int) -> SQLiteStatement {
    self.addresses.remove(at: index)
    return self.statements.remove(at: index)
  }

  /// Finalises all statements that are not in use, and removes the others.
  func removeAll() {
    for statement in self.statements where !statement.isInUse { statement.finalise() }
    (self.addresses, self.statements) = ([], [])
  }
}
