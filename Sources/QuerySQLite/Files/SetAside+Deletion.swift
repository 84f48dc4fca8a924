import Foundation
import Query

extension SetAside {
  /// Deletes all databases that were set aside, even those that are kept for good: a user's data
  /// must be forgotten. The database itself stays.
  ///
  /// - Throws: `StorageError`, the first, after all were tried.
  func removeAll() throws(StorageError) { try self.delete(self.names().sorted()) }

  /// Deletes the oldest damaged databases, so that with this one no more are left than the limit.
  ///
  /// Not those of the outbox: only the salvage knows whether all of one's content is saved.
  func deleteOldest(keeping kept: Name) throws(StorageError) {
    if self.kind == .mutations { return }
    // By name rather than by order: if the clock went back, the new one is not the newest.
    let others = try self.names().filter { $0.reason == .corrupt && $0 != kept }.sorted()
    let room = max(0, self.maximumCorrupt - (kept.reason == .corrupt ? 1 : 0))
    try self.delete(others.dropLast(room))
  }

  /// Deletes the oldest damaged databases that are expendable, so that no more of them are left
  /// than the limit.
  func deleteOldest(where isExpendable: (Name) -> Bool) throws(StorageError) {
    let names = try self.names().filter { $0.reason == .corrupt && isExpendable($0) }.sorted()
    try self.delete(names.dropLast(self.maximumCorrupt))
  }

  private func delete(_ names: some Collection<Name>) throws(StorageError) {
    var failure: Int32 = 0
    let suffixes = Self.companions.flatMap { [$0, $0 + Name.part] } + ["-shm"]
    for name in names {
      // The database first: a WAL alone cannot be mistaken for a whole database.
      for suffix in [""] + suffixes {
        let number = self.perform(.unlink(self.path(of: name) + suffix))
        if failure == 0 { failure = number }
      }
    }
    // Data that must be forgotten must not be back after a power cut.
    if !names.isEmpty { _ = self.perform(.synchronise) }
    if failure != 0 {
      throw StorageError(errno: failure, operation: "delete", path: self.databasePath)
    }
  }
}
