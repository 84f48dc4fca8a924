import FoundationEssentials
import Glibc
import QueryInspection
import ToolSupport

/// A file, by default for this user alone (0600), which takes its name when it is whole: a file that was there stays
/// until then. What is there and no file, as a device or a pipe, is written to as it is.
final class NewFile {
  private let path: String
  /// The name that the file has until it is whole; nil: it is written in its place.
  private let part: String?
  /// The path of the file itself, with every link resolved.
  private let target: String
  private var file: HeldFile?
  private var isFinished = false

  /// Makes the file beside the one that it will replace.
  ///
  /// - Parameters:
  ///   - path: The name that it takes. Until then the file has one that no other process uses.
  ///   - mode: The permissions of the file.
  /// - Throws: `ToolError` (input/output).
  init(_ path: String, mode: mode_t = 0o600) throws {
    self.path = path
    var status = stat()
    if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
      (self.part, self.target) = (nil, path)
      let descriptor = open(path, O_WRONLY | O_CLOEXEC)
      guard descriptor >= 0 else { throw Self.failure(path, errno) }
      self.file = HeldFile(descriptor)
      return
    }
    self.target = Self.resolved(path)
    // Not the number of the process, which another one in another container has, too.
    var name = Array("\(self.target).part-XXXXXX".utf8CString)
    let descriptor = mkstemp(&name)
    let number = errno
    guard descriptor >= 0 else {
      self.part = nil
      throw Self.failure(path, number)
    }
    self.part = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    // Whatever the mask of the process says.
    fchmod(descriptor, mode)
    self.file = HeldFile(descriptor)
  }

  deinit {
    if let part, !self.isFinished { unlink(part) }
  }

  /// The path without links; the path as it is if nothing is there.
  private static func resolved(_ path: String) -> String {
    guard let real = realpath(path, nil) else { return path }
    defer { free(real) }
    return String(cString: real)
  }

  /// Writes the next bytes.
  ///
  /// - Throws: `ToolError` (input/output).
  func write(_ data: Data) throws {
    do {
      try self.file?.write(data)
    } catch {
      throw ToolError(.inputOutput, "cannot write \(self.path): \(error)")
    }
  }

  /// Gives the file its name.
  ///
  /// - Throws: `ToolError` (input/output).
  func finish() throws {
    self.file = nil
    if let part, rename(part, self.target) != 0 { throw Self.failure(self.path, errno) }
    self.isFinished = true
  }

  private static func failure(_ path: String, _ number: Int32) -> ToolError {
    ToolError(.inputOutput, "cannot write \(path): \(String(cString: strerror(number)))")
  }
}

/// An input that can be read only once, in a temporary file for this user alone, since it is read more than
/// once.
final class SpooledInput {
  /// Its path.
  let path: String

  /// Reads an input to its end, unless it is a file.
  ///
  /// - Parameter name: A path, or `-` for the standard input.
  /// - Returns: nil if the name is that of a file, or of nothing.
  /// - Throws: `ToolError` (input/output).
  convenience init?(unlessFile name: String) throws {
    if name == "-" {
      try self.init(reading: STDIN_FILENO, "the standard input")
      return
    }
    var status = stat()
    guard stat(name, &status) == 0, ![S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT) else {
      return nil
    }
    // Once: the process that writes into a pipe has ended when the pipe is opened again.
    let descriptor = open(name, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw ToolError(.inputOutput, "cannot read \(name): \(String(cString: strerror(errno)))")
    }
    defer { close(descriptor) }
    try self.init(reading: descriptor, name)
  }

  private init(reading input: Int32, _ name: String) throws {
    var template = Array(
      FileManager.default.temporaryDirectory.appending(path: "cache-inspect-XXXXXX").path
        .utf8CString)
    let descriptor = mkstemp(&template)
    guard descriptor >= 0 else {
      throw ToolError(
        .inputOutput, "cannot make a temporary file: \(String(cString: strerror(errno)))")
    }
    self.path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let file = HeldFile(descriptor)
    do {
      while true {
        let data = try HeldFile.read(input, atMost: 1 << 20)
        if data.isEmpty { break }
        try file.write(data)
      }
    } catch {
      throw ToolError(.inputOutput, "cannot read \(name): \(error)")
    }
  }

  deinit { unlink(self.path) }
}
