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

  /// The folder of the files.
  package static func folder(in folder: String) -> String { "\(folder)/owners" }
}

/// Tells which owners have exited. Used by the thread that writes, and by no other.
final class OutboxReaper {
  private let folder: String

  /// Leases of other boots: their ends, and since when those are known, by this boot's clock.
  private var seen = [Int64: (end: Int64, since: Int64)]()

  /// - Parameter folder: The absolute path of the folder of the database.
  init(folder: String) { self.folder = OwnerFile.folder(in: folder) }

  /// Whether an owner's lock can be taken. A missing file proves nothing.
  func isGone(_ owner: String) -> Bool {
    guard UUID(uuidString: owner) != nil else { return false }
    guard
      // Bytes: the lock of an owner.
      let descriptor = try? RegularFile.open(
        "\(self.folder)/\(owner)", O_RDONLY, operation: "look for the owner")
    else { return false }
    defer { close(descriptor) }
    return flock(descriptor, LOCK_EX | LOCK_NB) == 0
  }

  /// How many microseconds a lease of another boot still lasts: its length, counted from when its
  /// end was last seen to change.
  func remaining(of number: Int64, endMonotonic: Int64, now: Int64, length: Int64) -> Int64 {
    if let known = self.seen[number], known.end == endMonotonic {
      return known.since.clampedSum(length).clampedDifference(now)
    }
    // More leases than can be alive at a time are not remembered.
    if self.seen.count > 1_000 { self.seen = [:] }
    self.seen[number] = (endMonotonic, now)
    return length
  }

  /// Removes the file of an owner that has exited and holds nothing.
  func remove(_ owner: String) {
    // Bytes: the lock of an owner that has exited.
    if RegularFile.isFolder(self.folder), self.isGone(owner) { unlink("\(self.folder)/\(owner)") }
  }

  /// The names of all files.
  var names: [String] {
    guard RegularFile.isFolder(self.folder) else { return [] }
    return (try? FileManager.default.contentsOfDirectory(atPath: self.folder)) ?? []
  }
}
