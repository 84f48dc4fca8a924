import Query

// MARK: - Erasing

extension CacheChanges {
  /// Removes all rows of the partition, those in quarantine too, takes its name away, and raises its epoch. Their bytes
  /// are in the file until ``CacheTables/finishErasing(patience:)``.
  ///
  /// - Throws: `StorageError`.
  mutating func eraseRows() throws {
    try self.connection.execute(EntryRow.deleteAll, self.partition)
    try self.connection.execute(QuarantineRow.deleteAll, self.partition)
    try self.connection.execute(PartitionRow.beginErasing, self.partition)
    let name = try self.connection.first(PartitionRow.readName, self.partition) {
      try $0.text(at: 0)
    }
    if let name, !name.hasPrefix(ErasedName.prefix) {
      try self.connection.execute(
        PartitionRow.rename, ErasedName(of: name).text, self.partition)
    }
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
    let epoch = try self.readPartition().epoch
    try self.connection.scrub(patience: patience)
    try self.connection.write {
      try self.connection.execute(PartitionRow.endErasing, self.partition, epoch)
    }
  }
}
