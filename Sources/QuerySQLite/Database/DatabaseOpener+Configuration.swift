import Query

extension DatabaseOpener {
  /// Makes the opener of a storage's file.
  ///
  /// - Parameters:
  ///   - kind: Which file.
  ///   - folder: The absolute path of its folder.
  ///   - configuration: How the storage works.
  init(_ kind: DatabaseKind, in folder: String, _ configuration: SQLiteStorageConfiguration) {
    self.init(kind: kind, folder: folder)
    let durability =
      kind == .cache ? configuration.cacheDurability : configuration.outboxDurability
    self.durability = durability == .full ? .full : .normal
    self.options.busyTimeout = configuration.busyTimeout
    self.options.revealsValues = configuration.revealsBoundValues
    if let vfs = configuration.vfs { self.options.vfs = vfs }
    if kind == .mutations {
      self.options.statementCapacity = 128
      // The transactions remove the rows that refer to a removed row.
      self.options.keepsReferences = false
    }
    if let fileSystemType = configuration.fileSystemType {
      self.files.fileSystemType = fileSystemType
    }
  }
}
