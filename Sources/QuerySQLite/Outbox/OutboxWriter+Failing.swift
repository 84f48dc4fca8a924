import Foundation
import Query

// MARK: - Failing

extension OutboxWriter {
  /// Reports that nothing can be written for now, and sets the next retry.
  func degrade(_ error: StorageError) {
    self.tell(self.database.health.didFail(error))
  }

  /// Reports that a write has succeeded.
  func didWork() { self.tell(self.database.health.didSucceed()) }

  private func tell(_ event: StorageEvent?) {
    guard let event else { return }
    for partition in self.database.partitions { partition.hooks?.tell(event) }
  }

  /// Retries what failed, with a commit.
  func recover() {
    do {
      let connection = try self.usableConnection()
      if self.database.health.error?.code == .full { try self.requireRoom() }
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
}
