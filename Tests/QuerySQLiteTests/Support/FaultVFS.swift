import CFaultVFS
import Foundation
import Query

/// A VFS that fails when a test says so. Connections use it by its name.
// The C functions lock; the pointer never changes and is never freed.
final class FaultVFS: @unchecked Sendable {
  /// What SQLite does to a file.
  struct Operations: OptionSet {
    let rawValue: Int32

    static let read = Self(rawValue: 1)
    static let write = Self(rawValue: 2)
    static let sync = Self(rawValue: 4)
    static let truncate = Self(rawValue: 8)
    static let open = Self(rawValue: 16)
    static let delete = Self(rawValue: 32)
    /// A write past the end of a file: what a full disk has no room for.
    static let grow = Self(rawValue: 64)
    static let all: Self = [.read, .write, .sync, .truncate, .open, .delete]
    /// All that changes a file.
    static let changes: Self = [.write, .sync, .truncate, .delete]
  }

  let name: String
  private let vfs: OpaquePointer
  private static let count = Locked(0)

  init() {
    let number = Self.count.withLock { count in
      count += 1
      return count
    }
    self.name = "fault-\(number)"
    guard let vfs = fault_vfs_create(self.name) else { preconditionFailure("no VFS") }
    self.vfs = vfs
  }

  /// From now on the `nth` operation fails with a result of SQLite, the first is 1; and all after it.
  func fail(_ operations: Operations, nth: Int, persistently: Bool = false, with result: Int32) {
    fault_vfs_arm(self.vfs, operations.rawValue, nth, persistently ? 1 : 0, result)
  }

  /// From now on each read of the file at a path fails, and one operation of its connections, so that
  /// it is noticed: what they know of it they need not read.
  func damage(_ path: String, noticedBy operations: Operations, with result: Int32) {
    fault_vfs_damage(self.vfs, path, result)
    self.fail(operations, nth: 1, with: result)
  }

  /// From now on the `nth` operation kills this process.
  func kill(_ operations: Operations, nth: Int) { self.fail(operations, nth: nth, with: -1) }

  /// From now on nothing fails, and counting begins again.
  func disarm() { fault_vfs_disarm(self.vfs) }

  /// How many operations there were since the last rule.
  func count(_ operations: Operations) -> Int { fault_vfs_count(self.vfs, operations.rawValue) }

  /// How many operations have failed.
  var failures: Int { fault_vfs_failures(self.vfs) }

  /// What a disk that cannot read a place makes of a read: SQLite then speaks of damage.
  static let diskFailure: Int32 = 8_458

  /// How many writes there were to a database or its WAL without the lock that keeps others from it.
  var unlockedWrites: Int { fault_vfs_unlocked_writes(self.vfs) }

  /// Begins to remember what files hold after each sync.
  func rememberSyncs() { fault_vfs_remember_syncs(self.vfs) }

  /// Writes into a folder what a power cut now would leave at the worst.
  func writeSynced(to folder: String) -> Bool { fault_vfs_write_synced(self.vfs, folder) == 0 }
}
