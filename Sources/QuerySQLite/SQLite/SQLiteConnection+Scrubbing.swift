import CSQLite
import Query

extension SQLiteConnection {
  /// Runs a closure in whose transactions SQLite overwrites with zeros what it deletes.
  ///
  /// - Throws: `StorageError`, and what the closure throws.
  func withSecureDelete<R>(_ body: () throws -> R) throws -> R {
    try self.pragma("PRAGMA secure_delete = 1")
    // The first error counts; a connection that cannot turn it off writes more than it has to.
    defer { _ = try? self.pragma("PRAGMA secure_delete = 0") }
    return try body()
  }

  /// Makes sure that no deleted byte is in the file or its WAL, in steps. Outside transactions.
  ///
  /// - Parameter patience: How long to wait for other connections that are in the way.
  /// - Throws: `StorageError`, busy if a reader stayed in the way: then it has to be called again.
  func scrub(patience: Duration) throws {
    let usual = self.busyHandler.patience
    defer { self.busyHandler.patience = usual }
    // Balancing a tree moves pages, and with them the bytes in their gaps: if another connection
    // has written during a pass, there is another pass.
    for _ in 0..<Self.mostPasses {
      var pass = PageScrub()
      try self.withSecureDelete {
        while !pass.isDone { try self.scrub(&pass, patience) }
      }
      try self.synchronise(SQLITE_FCNTL_FILE_POINTER, "synchronise")
      if !pass.hasSeenOthers { break }
    }
    try self.waitingForOthers(patience) {
      try self.checkpointGivingWay(.truncate).outcome == .complete
    }
  }

  private static let mostPasses = 3

  /// Runs a step of a pass.
  private func scrub(_ pass: inout PageScrub, _ patience: Duration) throws {
    var step = pass
    try self.waitingForOthers(patience) {
      // Only the commits of other connections change it.
      let version = try self.write { try self.dataVersion }
      guard try self.checkpointGivingWay(.restart).outcome == .complete else { return false }
      // Otherwise this connection would write again the pages that it has in memory.
      try self.pragma("PRAGMA shrink_memory")
      step = pass
      let isDone = try self.write {
        // Another connection has written since: the file does not hold everything.
        guard try self.dataVersion == version else { return false }
        guard try step.run(StepBudget(rows: .max), on: self) else { return false }
        try self.execute(Self.insertMark)
        try self.execute(Self.deleteMark)
        return true
      }
      if isDone { step.note(version) }
      return isDone
    }
    pass = step
    self.letOthersWrite()
  }

  /// A commit, after which each connection reads anew the pages that it has in memory.
  private static let insertMark: SQL = "INSERT INTO partitions (name) VALUES ('erased:')"
  private static let deleteMark: SQL = "DELETE FROM partitions WHERE name = 'erased:'"

  /// Tries something again until it is done, or until the patience ends.
  private func waitingForOthers(_ patience: Duration, _ body: () throws -> Bool) throws {
    let end = SuspendingClock.now + patience
    self.busyHandler.patience = .until(end)
    while try !body() {
      guard SuspendingClock.now < end else {
        throw StorageError(
          operation: "erase", code: .busy, message: "another connection reads an older state",
          fileName: self.fileName)
      }
      LockWait.sleep(round: 5)
    }
  }
}
