import Foundation

/// Identifies a file or folder among all that exist at the same time, whatever its name: links to
/// it and relative names of it have the same number.
package struct FileNumber: Hashable, Sendable {
  /// The number of the file system.
  let device: UInt64
  /// The number of the file in it.
  let inode: UInt64

  private init(_ status: stat) {
    self.device = UInt64(status.st_dev)
    self.inode = UInt64(status.st_ino)
  }

  /// The number of the file at a path; nil if there is none, or it cannot be examined.
  ///
  /// - Parameters:
  ///   - path: The path.
  ///   - followsLinks: Whether a symbolic link stands for its target.
  package init?(path: String, followsLinks: Bool = true) {
    var status = stat()
    guard (followsLinks ? stat(path, &status) : lstat(path, &status)) == 0 else { return nil }
    self.init(status)
  }

  /// The number of the file that a name in an open folder stands for; nil if there is none.
  init?(name: String, in folder: Int32) {
    var status = stat()
    guard fstatat(folder, name, &status, 0) == 0 else { return nil }
    self.init(status)
  }

  /// The number of an open file; nil if the descriptor is invalid.
  init?(descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return nil }
    self.init(status)
  }
}
