import Query

extension ReaderPool {
  /// Makes a pool whose connections read the file that the writer has open, and no other that has
  /// taken its place: in that one, rows have other numbers. The pool is suspended until the file is
  /// open.
  ///
  /// - Parameters:
  ///   - kind: Which file.
  ///   - number: The file that the writer has open.
  ///   - configuration: How many connections there are.
  ///   - open: Opens a connection to the file at the path.
  convenience init(
    _ kind: DatabaseKind,
    of number: Locked<FileNumber?>,
    _ configuration: SQLiteStorageConfiguration,
    open: @escaping @Sendable () throws -> SQLiteConnection
  ) {
    self.init(capacity: max(configuration.readConnections, 1), isSuspended: true) {
      let connection = try open()
      if try number.withLock({ $0 }) == connection.fileNumber { return connection }
      try? connection.close()
      throw StorageError(
        operation: "open", code: .moved, message: "the file was replaced",
        fileName: kind.fileName)
    }
  }
}
