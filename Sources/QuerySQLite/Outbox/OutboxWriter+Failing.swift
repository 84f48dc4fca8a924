import Foundation
import Query

// MARK: - Failing

extension OutboxWriter {
  /// Says that nothing can be written for the time being, and when it is tried again.
  func degrade(_ error: StorageError) {
    let now = SuspendingClock.now
    if self.retry.map({ $0.at <= now }) ?? true {
      let delay = min(
        self.retry.map { $0.delay * 2 } ?? self.configuration.retryDelay, .seconds(30))
      self.retry = (now + delay, delay)
    }
    if self.database.degradation == nil {
      for partition in self.database.partitions { partition.hooks?.tell(.degraded(error)) }
    }
    self.database.degradation = error
  }

  /// Says that a write has worked.
  func didWork() {
    self.retry = nil
    guard self.database.degradation != nil else { return }
    self.database.degradation = nil
    for partition in self.database.partitions { partition.hooks?.tell(.recovered) }
  }

  /// Takes note of a failure: a damaged file is replaced, all else is tried again later.
  func didFail(_ error: any Error) {
    let failure = Self.storageError(error)
    if failure.isOutboxDamage, self.connection != nil {
      self.didFindDamage(failure)
      if self.connection != nil { return }
    }
    // What the disk said last sticks to the connection.
    if failure.extendedCode == .diskFailedToRead { self.letGoOfFile() }
    self.degrade(failure)
  }

  /// Tries again what failed, by a commit.
  func recover() {
    do {
      let connection = try self.usableConnection()
      if self.database.degradation?.code == .full { try self.requireRoom() }
      try connection.write { try connection.execute(Self.probe) }
      self.didWork()
      self.didWrite(connection)
    } catch {
      self.didFail(error)
    }
  }

  /// Of a byte that changes: SQLite does not write a page whose bytes stay as they are.
  private static let probe: SQL = "UPDATE clock SET probe = (probe = 0) WHERE id = 1"

  /// A probe fits into the room that the log has on a full disk, and so proves nothing of what did not.
  ///
  /// - Throws: `StorageError` (full).
  private func requireRoom() throws {
    var status = statvfs()
    guard statvfs(self.opener.folder, &status) == 0 else { return }
    if Int(status.f_bavail) * Int(status.f_frsize) >= Self.reservedFileBytes { return }
    throw StorageError(
      operation: "write", code: .full, message: "the disk is full",
      fileName: DatabaseKind.mutations.fileName)
  }

  /// Makes sure that the file at the path is the one that is open.
  func reopenWhereMoved() {
    do {
      _ = try self.usableConnection()
    } catch {
      self.didFail(error)
    }
  }

  /// Takes note that the file is damaged, and replaces it.
  func didFindDamage(_ error: StorageError) {
    guard self.connection != nil, let file = self.fileAtPath else { return }
    self.damaged = (file, error)
    self.letGoOfFile()
    do {
      try self.open()
    } catch {
      self.degrade(Self.storageError(error))
    }
  }
}

extension StorageError {
  /// Whether the outbox is damaged, or no database. Not a constraint: that is a mistake of ours, and
  /// what is precious stays where it is.
  var isOutboxDamage: Bool {
    switch self.code {
    case .corrupt, .notADatabase, .mismatch: true
    case .error: self.operation == "prepare"
    default: false
    }
  }
}
