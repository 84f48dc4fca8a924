import FoundationEssentials
import Glibc

/// Notifies other processes of a commit by a byte written to `cache.kick`, which their
/// ``ChangeWatch`` sees. A watch on the WAL would fire before the commit is visible.
///
/// The file is open from before a commit on: if the process is killed before it has told of that, the others
/// see the file being closed.
///
/// Used by the thread that writes, and by no other. A watch of this process is notified too.
package final class ChangeKick {
  /// The absolute path of the file.
  let path: String

  private var descriptor: Int32 = -1

  /// Makes a kick. The first kick creates the file.
  ///
  /// - Parameters:
  ///   - kind: Which database.
  ///   - folder: The absolute path of its folder.
  package init(kind: DatabaseKind, folder: String) {
    self.path = Self.path(kind: kind, folder: folder)
  }

  deinit { self.letGo() }

  /// Closes the file, so that its file system can be unmounted. The next kick opens it again.
  func letGo() {
    if self.descriptor >= 0 { close(self.descriptor) }
    self.descriptor = -1
  }

  /// The path of a database's kick file.
  package static func path(kind: DatabaseKind, folder: String) -> String {
    "\(folder)/\(kind.rawValue).kick"
  }

  /// Opens the file, unless it is open.
  func hold() { if self.descriptor < 0 { self.openFile() } }

  /// Writes the byte, after a commit. If it cannot be written, the other processes learn of the
  /// commit with the next one.
  package func kick() {
    if !self.isInPlace { self.openFile() }
    var byte: UInt8 = 0
    // Bytes: the kick file, in which nothing else is written.
    _ = pwrite(self.descriptor, &byte, 1, 0)
  }

  /// false if the folder was emptied.
  private var isInPlace: Bool {
    var status = stat()
    return self.descriptor >= 0 && fstat(self.descriptor, &status) == 0 && status.st_nlink > 0
  }

  private func openFile() {
    self.letGo()
    // Bytes: the kick file.
    let descriptor = try? RegularFile.open(self.path, O_WRONLY | O_CREAT, operation: "kick")
    self.descriptor = descriptor ?? -1
  }
}
