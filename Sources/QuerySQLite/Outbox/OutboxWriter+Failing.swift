import Foundation
import Query

// MARK: - Failing

extension OutboxWriter {
  /// Reports that nothing can be written for now, and sets the next retry.
  func degrade(_ error: StorageError) {
    self.retry.didFail()
    let isNew = self.database.degradation == nil
    self.database.degradation = error
    if isNew {
      for partition in self.database.partitions { partition.hooks?.tell(.degraded(error)) }
    }
  }

  /// Reports that a write has succeeded.
  func didWork() {
    self.retry.didSucceed()
    guard self.database.degradation != nil else { return }
    self.database.degradation = nil
    for partition in self.database.partitions { partition.hooks?.tell(.recovered) }
  }

  /// Handles a failure: a damaged file is replaced, anything else is retried later.
  func didFail(_ error: any Error) {
    let failure = Self.storageError(error)
    if failure.isOutboxDamage, self.connection != nil {
      self.didFindDamage(failure)
      if self.connection != nil { return }
    }
    // The connection keeps the disk's last error.
    if failure.extendedCode == .diskFailedToRead { self.letGoOfFile() }
    self.degrade(failure)
  }

  /// Retries what failed, with a commit.
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

  /// Changes a byte: SQLite does not write a page whose bytes stay the same.
  private static let probe: SQL = "UPDATE clock SET probe = (probe = 0) WHERE id = 1"

  /// A probe fits into the space that the WAL keeps on a full disk, and so proves nothing about
  /// larger writes.
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

  /// Makes sure that the open file is the one at the path.
  func reopenWhereMoved() {
    do {
      _ = try self.usableConnection()
    } catch {
      self.didFail(error)
    }
  }

  /// Records that the file is damaged, and replaces it.
  func didFindDamage(_ error: StorageError) {
    guard self.connection != nil, self.file.note(error) else { return }
    self.letGoOfFile()
    do {
      try self.open()
    } catch {
      self.degrade(Self.storageError(error))
    }
  }
}
