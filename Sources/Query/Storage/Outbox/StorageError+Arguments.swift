package import FoundationEssentials

extension StorageError {
  /// Refuses arguments that have more bytes than a storage takes: one rule for all outboxes.
  ///
  /// - Parameters:
  ///   - arguments: The coded arguments.
  ///   - limit: How many bytes they may have.
  ///   - operation: The operation of the caller.
  ///   - fileName: The file, if there is one.
  /// - Throws: `StorageError` (too big).
  package static func requireRoom(
    for arguments: Data,
    limit: Int,
    operation: String,
    fileName: String? = nil
  ) throws(StorageError) {
    if arguments.count <= limit { return }
    throw StorageError(
      operation: operation, code: .tooBig,
      message: "the arguments have \(arguments.count) bytes, more than \(limit)",
      fileName: fileName)
  }
}
