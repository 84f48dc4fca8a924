import FoundationEssentials
import Glibc
import Query

/// The bytes of a file that no connection of any process has open.
///
/// A database in use is never opened by hand: when a process closes its first descriptor of the
/// file, the system drops all locks that the process has on it, including SQLite's. A file that was
/// set aside is no longer in use, and SQLite takes no locks on a WAL.
enum FileBytes {
  /// Reads a file; blocks that the disk cannot read are zeros.
  ///
  /// - Parameter path: The path.
  /// - Returns: The bytes, and how many could not be read; nil if there is no file.
  /// - Throws: `StorageError`.
  static func read(_ path: String) throws(StorageError) -> (bytes: [UInt8], unreadable: Int)? {
    // Bytes: a file that was set aside, or of a database that no process has open; it is only read.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    if descriptor < 0 {
      if errno == ENOENT { return nil }
      throw StorageError(errno: errno, operation: "read", path: path)
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw StorageError(errno: EINVAL, operation: "read", path: path)
    }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    var unreadable = 0
    bytes.withUnsafeMutableBytes { buffer in
      var offset = 0
      while offset < buffer.count {
        let wanted = min(buffer.count - offset, 1 << 20)
        let count = pread(descriptor, buffer.baseAddress.map { $0 + offset }, wanted, off_t(offset))
        if count > 0 {
          offset += count
        } else if count < 0, errno == EINTR {
          continue
        } else if count == 0 {
          return
        } else {
          offset += Self.readBlocks(descriptor, buffer, offset, wanted, &unreadable)
        }
      }
    }
    return (bytes, unreadable)
  }

  /// Reads block by block the part that could not be read at once.
  private static func readBlocks(
    _ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer, _ start: Int, _ count: Int,
    _ unreadable: inout Int
  ) -> Int {
    var offset = start
    while offset < start + count {
      let wanted = min(4_096, start + count - offset)
      let result = pread(
        descriptor, buffer.baseAddress.map { $0 + offset }, wanted, off_t(offset))
      if result < wanted { unreadable += wanted - max(0, result) }
      offset += wanted
    }
    return count
  }
}
