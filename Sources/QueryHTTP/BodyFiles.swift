import Foundation

/// The files beside an outbox that requests send.
struct BodyFiles: Sendable {
  /// The folder, which exists.
  let folder: URL

  /// Copies a file into the folder, and returns when the copy is on the disk.
  ///
  /// - Parameter source: A regular file.
  /// - Throws: ``HTTPRequestError/notAFile(path:)``; `POSIXError`. No copy is left then.
  func adopt(_ source: URL) throws -> HTTPBodyCopy {
    let input = open(source.path, O_RDONLY | O_CLOEXEC)
    guard input >= 0 else { throw HTTPRequestError.notAFile(path: source.path) }
    defer { close(input) }
    var status = stat()
    guard fstat(input, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw HTTPRequestError.notAFile(path: source.path)
    }
    let name = UUID().uuidString
    let path = self.path(of: name)
    let output = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard output >= 0 else { throw Self.lastError }
    do {
      defer { close(output) }
      let copy = try Self.copy(input, to: output, name)
      guard fsync(output) == 0 else { throw Self.lastError }
      try self.syncFolder()
      return copy
    } catch {
      unlink(path)
      throw error
    }
  }

  /// The URL of a copy, after a check that it has not changed.
  ///
  /// - Throws: ``HTTPRequestError/fileDamaged(name:)``.
  func check(_ copy: HTTPBodyCopy) throws -> URL {
    let path = self.path(of: copy.name)
    let input = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard input >= 0 else { throw HTTPRequestError.fileDamaged(name: copy.name) }
    defer { close(input) }
    guard let found = try? Self.copy(input, to: nil, copy.name), found == copy else {
      throw HTTPRequestError.fileDamaged(name: copy.name)
    }
    return URL(fileURLWithPath: path)
  }

  private func path(of name: String) -> String { self.folder.appending(path: name).path }

  private func syncFolder() throws {
    let folder = open(self.folder.path, O_RDONLY | O_CLOEXEC | O_DIRECTORY)
    guard folder >= 0 else { throw Self.lastError }
    defer { close(folder) }
    guard fsync(folder) == 0 else { throw Self.lastError }
  }

  /// Copies what is left of a file, or only reads it.
  private static func copy(
    _ input: Int32, to output: Int32?, _ name: String
  ) throws -> HTTPBodyCopy {
    var hash = FNV1a()
    var byteCount = 0
    var buffer = [UInt8](repeating: 0, count: 128 << 10)
    while true {
      let count = read(input, &buffer, buffer.count)
      if count == 0 { break }
      if count < 0 {
        if errno == EINTR { continue }
        throw Self.lastError
      }
      try buffer.withUnsafeBytes { bytes in
        let bytes = UnsafeRawBufferPointer(rebasing: bytes[..<count])
        hash.feed(bytes)
        if let output { try Self.write(bytes, to: output) }
      }
      byteCount += count
    }
    return HTTPBodyCopy(name: name, byteCount: byteCount, checksum: hash.value)
  }

  private static func write(_ bytes: UnsafeRawBufferPointer, to output: Int32) throws {
    var rest = bytes
    while !rest.isEmpty {
      let count = Foundation.write(output, rest.baseAddress, rest.count)
      if count < 0 {
        if errno == EINTR { continue }
        throw Self.lastError
      }
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }

  private static var lastError: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}
