import Foundation

/// What tells a file or a folder from every other one that is there at the same time, whatever its
/// name: links and relative names of one are one.
struct FileNumber: Hashable, Sendable {
  /// The number of the file system.
  let device: UInt64
  /// The number of the file in it.
  let inode: UInt64

  private init(_ status: stat) {
    self.device = UInt64(status.st_dev)
    self.inode = UInt64(status.st_ino)
  }

  /// The number of what is at a path; nil where nothing is, or where it cannot be looked at.
  ///
  /// - Parameters:
  ///   - path: The path.
  ///   - followsLinks: Whether a symbolic link stands for what it leads to.
  init?(path: String, followsLinks: Bool = true) {
    var status = stat()
    guard (followsLinks ? stat(path, &status) : lstat(path, &status)) == 0 else { return nil }
    self.init(status)
  }

  /// The number of what a name in an open folder stands for; nil where nothing has it.
  init?(name: String, in folder: Int32) {
    var status = stat()
    guard fstatat(folder, name, &status, 0) == 0 else { return nil }
    self.init(status)
  }

  /// The number of an open file; nil where the descriptor is none.
  init?(descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return nil }
    self.init(status)
  }
}
