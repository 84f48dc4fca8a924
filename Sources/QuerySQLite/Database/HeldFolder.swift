import Foundation

/// The folder of an open database, which keeps its number for as long as this object exists.
///
/// It keeps a descriptor: if the folder is removed while the database is open, the next folder made
/// anywhere could otherwise get its number, and a storage on that would share the database.
final class HeldFolder: Sendable {
  /// Identifies a folder.
  enum Key: Hashable {
    case folder(FileNumber)
    /// A folder that cannot be made or read.
    case missing(path: String)
  }

  let key: Key

  private let descriptor: Int32

  init(_ path: String) {
    // Bytes: a folder.
    self.descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    self.key = FileNumber(descriptor: self.descriptor).map { .folder($0) } ?? .missing(path: path)
  }

  deinit { if self.descriptor >= 0 { close(self.descriptor) } }
}
