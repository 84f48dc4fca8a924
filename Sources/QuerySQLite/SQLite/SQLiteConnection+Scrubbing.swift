import Query

extension SQLiteConnection {
  /// Runs a closure in whose transactions SQLite writes zeros over what it deletes.
  ///
  /// - Throws: `StorageError`, and what the closure throws.
  func withSecureDelete<R>(_ body: () throws -> R) throws -> R {
    try self.pragma("PRAGMA secure_delete = 1")
    // The first error counts; a connection that cannot turn it off writes more than it has to.
    defer { _ = try? self.pragma("PRAGMA secure_delete = 0") }
    return try body()
  }

  /// Makes sure that no byte of what was deleted is in the file or its WAL, in steps. Outside
  /// transactions.
  ///
  /// - Parameter patience: How long to wait for other connections that let nothing be done.
  /// - Throws: `StorageError`, busy if a reader stayed in the way: then it is to be done again.
  func scrub(patience: Duration) throws {
    let usual = self.busyHandler.patience
    defer { self.busyHandler.patience = usual }
    // A balance of a tree moves pages, and with them what is in their gaps: if others have written during
    // a pass, there is another.
    for _ in 0..<Self.mostPasses {
      var pass = PageScrub()
      try self.withSecureDelete {
        while !pass.isDone { try self.scrub(&pass, patience) }
      }
      try self.synchroniseFile()
      if !pass.hasSeenOthers { break }
    }
    try self.waitingForOthers(patience) {
      try self.checkpointGivingWay(.truncate).outcome == .complete
    }
  }

  private static let mostPasses = 3

  /// Does a step of a pass.
  private func scrub(_ pass: inout PageScrub, _ patience: Duration) throws {
    var step = pass
    try self.waitingForOthers(patience) {
      // It changes with the commits of others alone.
      let version = try self.write { try self.dataVersion }
      guard try self.checkpointGivingWay(.restart).outcome == .complete else { return false }
      // What this connection has in memory it would write again.
      try self.pragma("PRAGMA shrink_memory")
      step = pass
      let isDone = try self.write {
        // Somebody has written since: the file is not all that there is.
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
    StepBudget.letOthersWrite()
  }

  /// A commit, after which each connection reads anew what it has in memory.
  private static let insertMark: SQL = "INSERT INTO partitions (name) VALUES ('erased:')"
  private static let deleteMark: SQL = "DELETE FROM partitions WHERE name = 'erased:'"

  /// Tries something again until it is done.
  private func waitingForOthers(_ patience: Duration, _ body: () throws -> Bool) throws {
    let end = SuspendingClock.now + patience
    self.busyHandler.patience = .until(end)
    while try !body() {
      guard SuspendingClock.now < end else {
        throw StorageError(
          operation: "erase", code: .busy, message: "another connection reads an older state",
          fileName: self.fileName)
      }
      BusyHandler.sleep(round: 5)
    }
  }
}
