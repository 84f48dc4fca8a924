import Foundation
import Query

/// A small file beside a database, a lock or a kick, as this process may use it: a file, and no FIFO,
/// device or folder; itself, and not what a link leads to; of this user, or of root.
///
/// Whoever may write to the folder may put anything in its place: to open a FIFO would wait for ever,
/// and what is written through a link changes somebody's file.
enum RegularFile {
  /// Opens a file, without waiting.
  ///
  /// - Parameters:
  ///   - path: The absolute path.
  ///   - flags: Those of `open(2)`.
  ///   - operation: What the storage is doing, for the error.
  /// - Returns: A descriptor, closed on exec.
  /// - Throws: `StorageError`.
  static func open(
    _ path: String, _ flags: Int32, operation: String
  ) throws(StorageError) -> Int32 {
    let descriptor = Foundation.open(
      path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
    if descriptor < 0 {
      let number = errno
      if let fault = self.fault(at: path, isWritten: flags & O_ACCMODE != O_RDONLY) {
        throw self.error(fault, operation: operation, path: path)
      }
      throw StorageError(errno: number, operation: operation, path: path)
    }
    var status = stat()
    let isWritten = flags & O_ACCMODE != O_RDONLY
    guard fstat(descriptor, &status) == 0, let fault = self.fault(of: status, isWritten) else {
      return descriptor
    }
    close(descriptor)
    throw self.error(fault, operation: operation, path: path)
  }

  /// What keeps something at a path from being used; nil where nothing does, or nothing is there.
  static func fault(at path: String, isWritten: Bool) -> String? {
    var status = stat()
    return lstat(path, &status) == 0 ? self.fault(of: status, isWritten) : nil
  }

  private static func fault(of status: stat, _ isWritten: Bool) -> String? {
    if let kind = self.otherKind(status) { return "it is \(kind), and no file" }
    let user = geteuid()
    if user != 0 && status.st_uid != user && status.st_uid != 0 {
      return "it belongs to another user"
    }
    // A second name may be that of anybody's file.
    return isWritten && status.st_nlink > 1 ? "it has another name, too" : nil
  }

  /// What something is that is no file; nil for a file.
  static func otherKind(_ status: stat) -> String? {
    switch status.st_mode & S_IFMT {
    case S_IFREG: nil
    case S_IFLNK: "a symbolic link"
    case S_IFDIR: "a folder"
    case S_IFIFO: "a FIFO"
    case S_IFSOCK: "a socket"
    default: "a device"
    }
  }

  /// Whether a folder, itself and not what a link leads to, is at a path: in another one nothing is
  /// removed.
  static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  static func error(_ fault: String, operation: String, path: String) -> StorageError {
    StorageError(
      operation: operation, code: .cannotOpen, message: fault,
      fileName: (path as NSString).lastPathComponent)
  }
}
