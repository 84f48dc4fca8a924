// `stat` is of either, by what the compiler has read before.
import CSQLite
import FoundationEssentials
import Glibc
import Query

/// A small file beside a database, a lock or a kick, that this process may use: a regular file, not
/// a FIFO, device or folder, and not a link to one; owned by this user or root.
///
/// Any process that may write to the folder can put anything in its place: opening a FIFO would
/// wait for ever, and a write through a link would change an unrelated file.
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
    let descriptor = Glibc.open(
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

  /// The reason why the file at a path must not be used; nil if there is none, or no file.
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
    // The other name may be that of an unrelated file.
    return isWritten && status.st_nlink > 1 ? "it has another name, too" : nil
  }

  /// The kind of a directory entry that is not a regular file; nil for a regular file.
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

  /// Whether there is a folder at a path, itself and not through a link: nothing is removed through
  /// a link.
  static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  static func error(_ fault: String, operation: String, path: String) -> StorageError {
    StorageError(
      operation: operation, code: .cannotOpen, message: fault,
      fileName: FilePath.name(of: path))
  }
}
