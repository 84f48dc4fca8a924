import Foundation
import Query

/// The lock that keeps a database file in its place: `cache.lock` beside `cache.sqlite`.
///
/// Every process holds it shared while it has a connection to the file; who renames the file holds
/// it exclusively, after closing connections of its own. It is an `flock` on a file of its own,
/// which no one else has to do with, so that the rule against opening a database by hand is kept.
/// The system releases it when the process ends.
///
/// Used by the thread that owns the connections, and by no other. Two of them in one process exclude
/// each other as those of two processes do.
final class FileLock {
  /// What is held.
  enum Mode: Sendable {
    case none
    case shared
    case exclusive
  }

  /// The absolute path of the lock's file.
  let path: String

  /// What is held now.
  private(set) var mode = Mode.none

  private var descriptor: Int32 = -1

  /// Makes a lock that is not held. The file is made when it is first asked for.
  ///
  /// - Parameters:
  ///   - kind: Which database.
  ///   - folder: The absolute path of its folder.
  init(kind: DatabaseKind, folder: String) { self.path = "\(folder)/\(kind.rawValue).lock" }

  deinit { self.letGo() }

  /// Whether the file at the path is the one that this lock is on. Not where someone emptied the
  /// folder: then others lock a new file, and do not see this lock.
  var isCurrent: Bool {
    guard self.descriptor >= 0, let ours = FileNumber(descriptor: self.descriptor) else {
      return false
    }
    return ours == FileNumber(path: self.path)
  }
}

// MARK: - Locking

extension FileLock {
  /// Holds the lock shared, from whatever is held now.
  ///
  /// - Parameter patience: How long to wait for who holds it exclusively.
  /// - Throws: `StorageError`; busy where the patience ended, and then nothing is held.
  func lockShared(patience: Duration = .seconds(1)) throws(StorageError) {
    let end = SuspendingClock.now + patience
    var round: Int32 = 0
    while try !self.attempt(.shared) {
      guard SuspendingClock.now < end else {
        throw StorageError(
          operation: "lock", code: .busy, message: "another process is replacing the database",
          fileName: (self.path as NSString).lastPathComponent)
      }
      BusyHandler.sleep(round: round)
      round += 1
    }
  }

  /// Holds the lock exclusively, if that can be had at once. Close the connections before.
  ///
  /// What this process found wrong with the database is to be looked at again then: between letting
  /// go of the shared lock and getting this one, another process may have replaced the file.
  ///
  /// - Returns: Whether it is held. Otherwise what was shared is so again, unless another process
  ///   got the lock exclusively meanwhile; ``mode`` tells.
  /// - Throws: `StorageError`; then nothing is held.
  func tryExclusive() throws(StorageError) -> Bool {
    let wasShared = self.mode == .shared
    if try self.attempt(.exclusive) { return true }
    if wasShared { _ = try self.attempt(.shared) }
    return false
  }

  /// Turns the exclusive lock into a shared one.
  ///
  /// - Parameter patience: How long to wait: where others wait too, the kernel may let one of them
  ///   in between.
  /// - Throws: `StorageError`; busy where the patience ended, and then nothing is held.
  func downgrade(patience: Duration = .seconds(1)) throws(StorageError) {
    precondition(self.mode == .exclusive, "only an exclusive lock is downgraded")
    try self.lockShared(patience: patience)
  }

  /// Lets go of the lock. Close the connections before.
  func unlock() {
    if self.descriptor >= 0 { flock(self.descriptor, LOCK_UN) }
    self.mode = .none
  }

  /// Lets go of the lock, and closes its file, so that nothing keeps its file system from being
  /// unmounted. It may be asked for again.
  func letGo() { self.closeFile() }

  /// Asks once, without waiting.
  private func attempt(_ wanted: Mode) throws(StorageError) -> Bool {
    while true {
      if self.mode == wanted && self.isCurrent { return true }
      if !self.isCurrent { try self.openFile() }
      let operation = wanted == .exclusive ? LOCK_EX : LOCK_SH
      if flock(self.descriptor, operation | LOCK_NB) == 0 {
        self.mode = wanted
        // Someone may have deleted the file between its opening and its locking.
        continue
      }
      let number = errno
      if number == EINTR { continue }
      // The kernel lets go of the old lock before it looks for what is in the way of the new one.
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
    // For reading, so that it can be locked where nothing can be written.
    // Bytes: the lock's file, which holds none.
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
