import Foundation

/// A folder of an open database, told from all others for as long as somebody has this.
///
/// It keeps a descriptor: where the folder is removed while the database is open, the next folder that
/// is made, anywhere, could get its number, and a storage on that would share the database.
final class HeldFolder: Sendable {
  /// What tells folders apart.
  enum Key: Hashable {
    case folder(FileNumber)
    /// Of a folder that cannot be made, or not be read.
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
