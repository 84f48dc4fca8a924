import FoundationEssentials
import Glibc
import Query

// MARK: - Reading

extension OutboxDatabase {
  /// Whether there is neither a file, nor one whose mutations are yet to be salvaged: then there is
  /// no mutation.
  var hasNothing: Bool {
    // The note first: the process that removes it has made the file before.
    let isPending = OutboxSalvage.isPending(
      in: FilePath.folder(of: self.path))
    return !isPending && access(self.path, F_OK) != 0 && errno == ENOENT
  }

  /// Reads on this thread, waiting if necessary.
  ///
  /// - Returns: What the closure returns; nil if there is no file, and so no mutation.
  /// - Throws: The closure's errors; `StorageError`.
  func read<Value>(
    _ partition: OutboxPartition,
    _ body: (OutboxTables) throws -> Value
  ) throws -> Value? {
    if !self.thread.isStarted {
      if self.hasNothing { return nil }
      self.start()
    }
    let end = SuspendingClock.now + self.configuration.busyTimeout
    self.thread.waitUntilBegun(atMost: self.configuration.busyTimeout)
    var round: Int32 = 0
    while true {
      if let value = try self.tryRead(partition, body) { return value }
      if self.thread.isStopping {
        ExitFlush.waitForEnd()
        throw Self.closed
      }
      // No file is open: every caller gets the reason.
      if self.fileNumber.withLock({ $0 }) == nil, let error = self.health.error { throw error }
      guard SuspendingClock.now < end else {
        throw self.fileNumber.withLock { $0 } == nil
          ? Self.busy("the file is still being opened") : Self.busy("all connections are taken")
      }
      LockWait.sleep(round: round)
      round += 1
    }
  }

  private func tryRead<Value>(
    _ partition: OutboxPartition,
    _ body: (OutboxTables) throws -> Value
  ) throws -> Value? {
    let file = self.fileNumber.withLock { $0 }
    do {
      return try self.readers.tryRead { connection in
        try connection.read {
          try body(
            try OutboxTables(
              partitionNamed: partition.name, on: connection, handlers: partition.handlers,
              self.configuration.outboxClock.now()))
        }
      }
    } catch {
      let failure = StorageError(any: error, operation: "read")
      self.thread.check(file, after: failure)
      // The errors that a caller of the outbox knows.
      throw error is OutboxError ? error : failure
    }
  }

  private static func busy(_ message: String) -> StorageError {
    StorageError(
      operation: "read", code: .busy, message: message,
      fileName: DatabaseKind.mutations.fileName)
  }
}
