import Foundation
import ToolSupport

/// A file for this user alone (0600), which takes its name when it is whole: a file that was there stays
/// until then.
final class NewFile {
  private let path: String
  private let part: String
  private let file: FileHandle
  private var isFinished = false

  /// Makes the file beside the one that it will replace.
  ///
  /// - Throws: `ToolError` (input/output).
  init(_ path: String) throws {
    self.path = path
    self.part = "\(path).part-\(getpid())"
    let descriptor = open(self.part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Self.failure(path, errno) }
    self.file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
  }

  deinit { if !self.isFinished { unlink(self.part) } }

  /// Writes the next bytes.
  ///
  /// - Throws: `ToolError` (input/output).
  func write(_ data: Data) throws {
    do {
      try self.file.write(contentsOf: data)
    } catch {
      throw ToolError(.inputOutput, "cannot write \(self.path): \(error.localizedDescription)")
    }
  }

  /// Gives the file its name.
  ///
  /// - Throws: `ToolError` (input/output).
  func finish() throws {
    try? self.file.close()
    guard rename(self.part, self.path) == 0 else { throw Self.failure(self.path, errno) }
    self.isFinished = true
  }

  private static func failure(_ path: String, _ number: Int32) -> ToolError {
    ToolError(.inputOutput, "cannot write \(path): \(String(cString: strerror(number)))")
  }
}

/// The standard input in a temporary file for this user alone, since it is read more than once.
final class SpooledInput {
  /// Its path.
  let path: String

  /// Reads the standard input to its end.
  ///
  /// - Throws: `ToolError` (input/output).
  init() throws {
    var template = Array(
      FileManager.default.temporaryDirectory.appending(path: "cache-inspect-XXXXXX").path
        .utf8CString)
    let descriptor = mkstemp(&template)
    guard descriptor >= 0 else {
      throw ToolError(
        .inputOutput, "cannot make a temporary file: \(String(cString: strerror(errno)))")
    }
    self.path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    do {
      while let data = try FileHandle.standardInput.read(upToCount: 1 << 20), !data.isEmpty {
        try file.write(contentsOf: data)
      }
    } catch {
      throw ToolError(.inputOutput, "cannot read the standard input: \(error.localizedDescription)")
    }
  }

  deinit { unlink(self.path) }
}
