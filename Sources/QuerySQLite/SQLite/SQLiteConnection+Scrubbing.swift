import Query

extension SQLiteConnection {
  /// Makes sure that no byte of what was deleted is in the file or its WAL. Outside transactions.
  ///
  /// - Parameter patience: How long to wait for other connections, all of it together.
  /// - Throws: `StorageError`, busy where a reader stayed in the way: then it is to be done again.
  func scrub(patience: Duration) throws {
    let end = SuspendingClock.now + patience
    let usual = self.busyHandler.patience
    self.busyHandler.patience = .until(end)
    defer { self.busyHandler.patience = usual }
    try self.pragma("PRAGMA secure_delete = 1")
    // The first error counts; a connection that cannot turn it off writes more than it has to.
    defer { _ = try? self.pragma("PRAGMA secure_delete = 0") }
    // Pages that were rebuilt keep copies of rows, which deleting does not reach.
    try self.pragma("VACUUM")
    try self.emptyWAL(until: end)
  }

  private func emptyWAL(until end: SuspendingClock.Instant) throws {
    while true {
      let left = end - SuspendingClock.now
      do throws(StorageError) {
        if try self.checkpoint(.truncate, patience: max(left, .zero)).isComplete { return }
      } catch {
        guard error.code == .interrupted else { throw error }
        throw self.busy("another connection reads an older state")
      }
      if left <= .zero { throw self.busy("another connection checkpoints") }
      BusyHandler.sleep(round: 5)
    }
  }

  private func busy(_ message: String) -> StorageError {
    StorageError(operation: "erase", code: .busy, message: message, fileName: self.fileName)
  }
}
