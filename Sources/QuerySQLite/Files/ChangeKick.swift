import Foundation

/// Tells other processes that something was committed, by a byte written to `cache.kick`, which their
/// ``ChangeWatch`` sees. A watch on the WAL would be told before the commit can be seen.
///
/// Used by the thread that writes, and by no other. A watch of this process is told too.
final class ChangeKick {
  /// The absolute path of the file.
  let path: String

  private var descriptor: Int32 = -1

  /// Makes a kick. The file is made with the first one.
  ///
  /// - Parameters:
  ///   - kind: Which database.
  ///   - folder: The absolute path of its folder.
  init(kind: DatabaseKind, folder: String) { self.path = Self.path(kind: kind, folder: folder) }

  deinit { self.letGo() }

  /// Closes the file, so that nothing keeps its file system from being unmounted. The next kick opens it.
  func letGo() {
    if self.descriptor >= 0 { close(self.descriptor) }
    self.descriptor = -1
  }

  /// Where the file of a database is.
  static func path(kind: DatabaseKind, folder: String) -> String {
    "\(folder)/\(kind.rawValue).kick"
  }

  /// Writes the byte, after a commit. Where it cannot be written the others learn of the commit with
  /// the next one.
  func kick() {
    if !self.isInPlace { self.openFile() }
    var byte: UInt8 = 0
    // Bytes: the file of kicks, which no one else writes anything in.
    _ = pwrite(self.descriptor, &byte, 1, 0)
  }

  /// Not where someone emptied the folder.
  private var isInPlace: Bool {
    var status = stat()
    return self.descriptor >= 0 && fstat(self.descriptor, &status) == 0 && status.st_nlink > 0
  }

  private func openFile() {
    self.letGo()
    // Bytes: the file of kicks.
    let descriptor = try? RegularFile.open(self.path, O_WRONLY | O_CREAT, operation: "kick")
    self.descriptor = descriptor ?? -1
  }
}
