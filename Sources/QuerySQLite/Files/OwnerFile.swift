// `stat` is of either, by what the compiler has read before.
import CSQLite
import FoundationEssentials
import Glibc
import Query

/// The lock file of a process in `owners/`: as long as it is locked, the process is alive, whatever
/// its PID is in whatever namespace.
///
/// It is made, locked and closed on exec before the first claim, and removed last. A forked child
/// keeps the lock, and with it the rows that its parent runs, until it exits too.
package final class OwnerFile {
  /// The name of the file, a UUID.
  let name: String

  private let path: String
  private var descriptor: Int32

  /// Makes and locks a file.
  ///
  /// - Parameter folder: The absolute path of the folder of the database.
  /// - Throws: `StorageError`.
  init(in folder: String) throws(StorageError) {
    let owners = Self.folder(in: folder)
    try DatabaseFiles().makeFolder(owners)
    guard RegularFile.isFolder(owners) else {
      throw RegularFile.error(
        "it is no folder", operation: "make the owner's file", path: owners)
    }
    while true {
      let name = UUID().uuidString
      let path = "\(owners)/\(name)"
      // Bytes: the lock of this process.
      let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      if descriptor < 0 {
        throw StorageError(errno: errno, operation: "make the owner's file", path: path)
      }
      var status = stat()
      // A process that sweeps may have taken it for one that was left behind.
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0, fstat(descriptor, &status) == 0,
        status.st_nlink > 0
      {
        (self.name, self.path, self.descriptor) = (name, path, descriptor)
        return
      }
      close(descriptor)
    }
  }

  deinit { self.remove() }

  /// Removes the file, and releases the lock.
  func remove() {
    if self.descriptor < 0 { return }
    // Bytes: the lock of this process.
    unlink(self.path)
    close(self.descriptor)
    self.descriptor = -1
  }

  /// What the file of an owner tells.
  enum State {
    /// Its lock is held.
    case alive
    /// Its lock can be taken.
    case gone
    /// There is no such file, or it cannot be opened.
    case missing
  }

  /// What the file of an owner tells.
  ///
  /// - Parameter owners: The path of ``folder(in:)``.
  static func state(of owner: String, in owners: String) -> State {
    guard UUID(uuidString: owner) != nil else { return .missing }
    guard
      // Bytes: the lock of an owner.
      let descriptor = try? RegularFile.open(
        "\(owners)/\(owner)", O_RDONLY, operation: "look for the owner")
    else { return .missing }
    defer { close(descriptor) }
    return flock(descriptor, LOCK_EX | LOCK_NB) == 0 ? .gone : .alive
  }

  /// The folder of the files.
  package static func folder(in folder: String) -> String { "\(folder)/owners" }
}
