import Query

// MARK: - Erasing

extension CacheChanges {
  /// Removes all rows of the partition, those in quarantine too, and raises its epoch. Their bytes
  /// are in the file until ``CacheTables/finishErasing(patience:)``.
  ///
  /// - Throws: `StorageError`.
  mutating func eraseRows() throws {
    try self.connection.execute(EntryRow.deleteAll, self.partition)
    try self.connection.execute(QuarantineRow.deleteAll, self.partition)
    try self.connection.execute(PartitionRow.beginErasing, self.partition)
    self.countErasing()
  }
}

extension CacheTables {
  /// Makes sure that no byte of what was erased is in the file or its WAL. Outside transactions; after
  /// ``CacheChanges/eraseRows()``, and when a file is opened whose partition is still being erased.
  ///
  /// - Parameter patience: How long to wait for other connections, all of it together.
  /// - Throws: `StorageError`, busy where a reader stayed in the way: then it is to be done again.
  func finishErasing(patience: Duration = .seconds(30)) throws {
    let end = SuspendingClock.now + patience
    let epoch = try self.readPartition().epoch
    let usual = self.connection.busyHandler.patience
    self.connection.busyHandler.patience = .until(end)
    defer { self.connection.busyHandler.patience = usual }
    try self.connection.pragma("PRAGMA secure_delete = 1")
    // The first error counts; a connection that cannot turn it off writes more than it has to.
    defer { _ = try? self.connection.pragma("PRAGMA secure_delete = 0") }
    // Pages that were rebuilt keep copies of rows, which deleting does not reach.
    try self.connection.pragma("VACUUM")
    try self.emptyWAL(until: end)
    try self.connection.write {
      try self.connection.execute(PartitionRow.endErasing, self.partition, epoch)
    }
  }

  private func emptyWAL(until end: SuspendingClock.Instant) throws {
    while true {
      let left = end - SuspendingClock.now
      do throws(StorageError) {
        if try self.connection.checkpoint(.truncate, patience: max(left, .zero)).isComplete {
          return
        }
      } catch {
        guard error.code == .interrupted else { throw error }
        throw self.busy("another connection reads an older state")
      }
      if left <= .zero { throw self.busy("another connection checkpoints") }
      BusyHandler.sleep(round: 5)
    }
  }

  private func busy(_ message: String) -> StorageError {
    StorageError(
      operation: "erase", code: .busy, message: message, fileName: self.connection.fileName)
  }
}
