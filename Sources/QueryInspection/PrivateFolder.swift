import FoundationEssentials
import Glibc
import Query
import QuerySQLite

/// A temporary folder that only this user can read (0700). It is removed with its last reference.
final class PrivateFolder {
  /// The absolute path.
  let path: String

  /// Makes the folder in the system's folder for temporary files.
  ///
  /// - Throws: `StorageError`.
  init() throws(StorageError) {
    let template = FileManager.default.temporaryDirectory.appending(path: "query-store-XXXXXX")
    var bytes = Array(template.path.utf8CString)
    guard mkdtemp(&bytes) != nil else {
      throw StorageError(errno: errno, operation: "make the folder", path: template.path)
    }
    self.path = String(decoding: bytes.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  // Bytes: copies of this process's own.
  deinit { try? FileManager.default.removeItem(atPath: self.path) }

  /// Copies a file into the folder. Only for a file that no connection of this process has open:
  /// closing a descriptor of it drops SQLite's locks.
  ///
  /// - Throws: `StorageError`.
  func add(_ source: String, as name: String) throws(StorageError) {
    // Bytes: a file that no connection of this process has open; it is only read.
    let input = open(source, O_RDONLY | O_CLOEXEC)
    guard input >= 0 else { throw StorageError(errno: errno, operation: "open", path: source) }
    defer { close(input) }
    let target = "\(self.path)/\(name)"
    let output = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard output >= 0 else { throw StorageError(errno: errno, operation: "copy", path: target) }
    defer { close(output) }
    var buffer = [UInt8](repeating: 0, count: 1 << 18)
    while true {
      let count = read(input, &buffer, buffer.count)
      if count < 0 && errno == EINTR { continue }
      if count < 0 { throw StorageError(errno: errno, operation: "read", path: source) }
      if count == 0 { return }
      try Self.write(buffer[..<count], to: output, target)
    }
  }

  private static func write(
    _ bytes: ArraySlice<UInt8>, to descriptor: Int32, _ path: String
  ) throws(StorageError) {
    var rest = bytes
    while !rest.isEmpty {
      // Bytes: the copy.
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      if count < 0 { throw StorageError(errno: errno, operation: "copy", path: path) }
      rest = rest.dropFirst(count)
    }
  }
}
