import FoundationEssentials
import Glibc

/// What a tool prints, on the standard output, written a block at a time. It is of one task.
///
/// A reader that has gone is not a failure of the tool: ``ClosedPipe`` ends it quietly, after its
/// caller has put away what it holds.
package final class Output {
  private static let blockSize = 16 << 10

  private let descriptor: Int32
  private var buffer = [UInt8]()

  /// The reader of the output has closed it.
  package struct ClosedPipe: Error {
    /// Creates the error.
    package init() {}
  }

  /// Creates an output.
  ///
  /// - Parameter descriptor: The descriptor to write to.
  package init(descriptor: Int32 = STDOUT_FILENO) { self.descriptor = descriptor }

  /// Prints a line.
  ///
  /// - Throws: ``ClosedPipe``; ``ToolError`` of code ``ExitCode/inputOutput``.
  package func line(_ text: String = "") throws { try self.write(text + "\n") }

  /// Prints a text.
  ///
  /// - Throws: As ``line(_:)``.
  package func write(_ text: String) throws {
    self.buffer += text.utf8
    if self.buffer.count >= Self.blockSize { try self.flush() }
  }

  /// Prints bytes as they are.
  ///
  /// - Throws: As ``line(_:)``.
  package func write(bytes: some Sequence<UInt8>) throws {
    self.buffer += bytes
    if self.buffer.count >= Self.blockSize { try self.flush() }
  }

  /// Writes what was printed.
  ///
  /// - Throws: As ``line(_:)``.
  package func flush() throws {
    let bytes = self.buffer
    self.buffer.removeAll(keepingCapacity: true)
    try bytes.withUnsafeBytes { try Self.write($0, to: self.descriptor) }
  }

  private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws {
    var rest = bytes
    while !rest.isEmpty {
      let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
      if count >= 0 {
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        continue
      }
      switch errno {
      case EINTR: continue
      case EAGAIN:
        var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = Glibc.poll(&poll, 1, -1)
      case EPIPE: throw ClosedPipe()
      case let number:
        throw ToolError(
          .inputOutput, "cannot write the output: \(String(cString: strerror(number)))")
      }
    }
  }
}

// MARK: - Errors

extension Output {
  /// Prints a line on the standard error, whether or not anything reads it.
  ///
  /// - Parameter text: The line. Control characters in it are escaped.
  package static func error(_ text: String) {
    Self.errorBytes(SafeText.escape(text) + "\n")
  }

  /// Prints a question on the standard error, and stays in its line for the answer.
  ///
  /// - Parameter text: The question. Control characters in it are escaped.
  static func ask(_ text: String) { Self.errorBytes(SafeText.escape(text) + " [y/N] ") }

  private static func errorBytes(_ text: String) {
    let bytes = Array(text.utf8)
    _ = bytes.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }
}
