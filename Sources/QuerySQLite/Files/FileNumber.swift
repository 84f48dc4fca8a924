import CSQLite
import Glibc

/// Identifies a file or folder among all that exist at the same time, whatever its name: links to
/// it and relative names of it have the same number.
package struct FileNumber: Hashable, Sendable {
  /// The number of the file system.
  let device: UInt64
  /// The number of the file in it.
  let inode: UInt64

  private init?(_ name: String, in folder: Int32, flags: Int32) {
    var (device, inode) = (UInt64(0), UInt64(0))
    guard csqlite_file_number(folder, name, flags, &device, &inode) == 0 else { return nil }
    (self.device, self.inode) = (device, inode)
  }

  /// The number of the file at a path; nil if there is none, or it cannot be examined.
  ///
  /// - Parameters:
  ///   - path: The path.
  ///   - followsLinks: Whether a symbolic link stands for its target.
  package init?(path: String, followsLinks: Bool = true) {
    self.init(path, in: AT_FDCWD, flags: followsLinks ? 0 : AT_SYMLINK_NOFOLLOW)
  }

  /// The number of the file that a name in an open folder stands for; nil if there is none.
  init?(name: String, in folder: Int32, followsLinks: Bool = true) {
    self.init(name, in: folder, flags: followsLinks ? 0 : AT_SYMLINK_NOFOLLOW)
  }

  /// The number of an open file; nil if the descriptor is invalid.
  init?(descriptor: Int32) { self.init("", in: descriptor, flags: 0) }
}
