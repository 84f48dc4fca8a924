import FoundationEssentials
import Glibc
package import Query

/// The lock that keeps a database file in its place: `cache.lock` beside `cache.sqlite`.
///
/// Every process holds it shared while it has a connection to the file; a process that renames the
/// file holds it exclusively, after closing its own connections. It is an `flock` on a separate
/// file, which nothing else uses, so that no database is ever opened by hand. The system releases
/// it when the process ends.
///
/// A process that holds it can see whether others do: one that is alone need not let others write.
///
/// Used by the thread that owns the connections, and by no other. Two locks in one process exclude
/// each other like those of two processes.
package final class FileLock {
  /// How the lock is held.
  enum Mode: Sendable {
    case none
    case shared
    case exclusive
  }

  /// The absolute path of the lock's file.
  let path: String

  /// How the lock is held now.
  private(set) var mode = Mode.none

  private var descriptor: Int32 = -1

  /// Makes a lock that is not held. The first attempt to lock it creates the file.
  ///
  /// - Parameters:
  ///   - kind: Which database.
  ///   - folder: The absolute path of its folder.
  package init(kind: DatabaseKind, folder: String) { self.path = "\(folder)/\(kind.rawValue).lock" }

  deinit { self.letGo() }

  /// Whether the file at the path is the one that this lock is on. It is not if the folder was
  /// emptied: then other processes lock a new file, and do not see this lock.
  var isCurrent: Bool {
    guard self.descriptor >= 0, let ours = FileNumber(descriptor: self.descriptor) else {
      return false
    }
    return ours == FileNumber(path: self.path)
  }

  /// Whether another process, or another lock of this one, has the database open or is opening it.
  var hasOthers: Bool { !self.isCurrent || PresenceLock.isHeldByOthers(self.descriptor) }

  /// Whether another one that has the lock has checked the database, and has it open.
  var isCheckedByOthers: Bool {
    self.isCurrent && PresenceLock.isHeldByOthers(self.descriptor, .hasChecked)
  }

  /// Shows the others, until the lock is released, that the database is checked.
  func showChecked() { _ = PresenceLock.take(self.descriptor, .hasChecked) }
}

// MARK: - Locking

extension FileLock {
  /// Holds the lock shared, whatever is held now.
  ///
  /// - Parameter patience: How long to wait for a process that holds it exclusively.
  /// - Throws: `StorageError`; busy if the patience ended, and then nothing is held.
  package func lockShared(patience: Duration = .seconds(1)) throws(StorageError) {
    let end = SuspendingClock.now + patience
    var round: Int32 = 0
    while try !self.attempt(.shared) {
      guard SuspendingClock.now < end else {
        throw StorageError(
          operation: "lock", code: .busy, message: "another process is replacing the database",
          fileName: FilePath.name(of: self.path))
      }
      LockWait.sleep(round: round)
      round += 1
    }
  }

  /// Holds the lock exclusively if it is free. Close the connections first.
  ///
  /// Check again then what this process found wrong with the database: between the release of the
  /// shared lock and this one, another process may have replaced the file.
  ///
  /// - Returns: Whether it is held. If not, a lock that was shared is so again, unless another
  ///   process got it exclusively meanwhile; ``mode`` tells.
  /// - Throws: `StorageError`; then nothing is held.
  func tryExclusive() throws(StorageError) -> Bool {
    let wasShared = self.mode == .shared
    if try self.attempt(.exclusive) { return true }
    if wasShared { _ = try self.attempt(.shared) }
    return false
  }

  /// Runs a closure while the lock is held exclusively, if it is free. Close the connections first.
  ///
  /// - Returns: Whether it ran; then the lock is shared. If not, see ``tryExclusive()``.
  /// - Throws: `StorageError`, and then nothing is held; or the error of the closure, and then the
  ///   lock is shared.
  func ifAlone(_ body: () throws -> Void) throws -> Bool {
    guard try self.tryExclusive() else { return false }
    let result = Result { try body() }
    try self.downgrade()
    try result.get()
    return true
  }

  /// Turns the exclusive lock into a shared one.
  ///
  /// - Parameter patience: How long to wait: the kernel may let another waiter in between.
  /// - Throws: `StorageError`; busy if the patience ended, and then nothing is held.
  func downgrade(patience: Duration = .seconds(1)) throws(StorageError) {
    precondition(self.mode == .exclusive, "only an exclusive lock is downgraded")
    try self.lockShared(patience: patience)
  }

  /// Releases the lock. Close the connections first.
  func unlock() {
    if self.descriptor >= 0 {
      flock(self.descriptor, LOCK_UN)
      PresenceLock.release(self.descriptor, .hasChecked)
      PresenceLock.release(self.descriptor)
    }
    self.mode = .none
  }

  /// Releases the lock and closes its file, so that the file system can be unmounted. It may be
  /// locked again.
  package func letGo() { self.closeFile() }

  /// Tries once, without waiting.
  private func attempt(_ wanted: Mode) throws(StorageError) -> Bool {
    while true {
      if self.mode == wanted && self.isCurrent { return true }
      if !self.isCurrent { try self.openFile() }
      let operation = wanted == .exclusive ? LOCK_EX : LOCK_SH
      if flock(self.descriptor, operation | LOCK_NB) == 0 {
        self.mode = wanted
        _ = PresenceLock.take(self.descriptor)
        // Another process may have deleted the file between its opening and its locking.
        continue
      }
      let number = errno
      if number == EINTR { continue }
      // The kernel releases the old lock before it looks for what blocks the new one.
      self.mode = .none
      if number == EWOULDBLOCK { return false }
      throw StorageError(errno: number, operation: "lock", path: self.path)
    }
  }
}

// MARK: - The file

extension FileLock {
  private func openFile() throws(StorageError) {
    self.closeFile()
    // For reading, so that it can be locked even if nothing can be written.
    // Bytes: the lock's file, which is empty.
    self.descriptor = try RegularFile.open(
      self.path, O_RDONLY | O_CREAT, operation: "open the lock")
  }

  private func closeFile() {
    // A forked child has the descriptor too, and would keep the lock.
    self.unlock()
    if self.descriptor >= 0 { close(self.descriptor) }
    self.descriptor = -1
  }
}
