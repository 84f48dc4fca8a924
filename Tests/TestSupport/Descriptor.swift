import Foundation

/// A descriptor that a program that is started does not have by itself. It is closed with the last
/// reference to it.
final class Descriptor: Sendable {
  /// From 3 on, so that it can become any standard stream of a child.
  let number: Int32

  /// - Throws: `POSIXError`.
  init(duplicating number: Int32) throws {
    self.number = fcntl(number, F_DUPFD_CLOEXEC, 3)
    if self.number < 0 { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
  }

  /// Opens a file for reading and writing.
  ///
  /// - Throws: `POSIXError`.
  convenience init(opening path: String) throws {
    let number = open(path, O_RDWR | O_CLOEXEC)
    if number < 0 { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    defer { close(number) }
    try self.init(duplicating: number)
  }

  deinit { close(self.number) }

  /// Both ends of a new pipe.
  ///
  /// - Throws: `POSIXError` if no descriptor is left.
  static func pipe() throws -> (reading: Descriptor, writing: Descriptor) {
    var numbers: [Int32] = [-1, -1]
    guard Foundation.pipe(&numbers) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    defer { for number in numbers { close(number) } }
    return (try Descriptor(duplicating: numbers[0]), try Descriptor(duplicating: numbers[1]))
  }
}

// MARK: - Bytes

extension Descriptor {
  /// Writes all bytes.
  ///
  /// - Throws: `POSIXError`.
  func write(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let (count, code) = withoutBrokenPipe {
        rest.withUnsafeBytes { Foundation.write(self.number, $0.baseAddress, $0.count) }
      }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if code != EINTR {
        throw POSIXError(.init(rawValue: code) ?? .EIO)
      }
    }
  }

  /// Waits for bytes; returns none at the end, and if reading fails.
  func read() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, count in
      var result: Int
      repeat {
        result = Foundation.read(self.number, buffer.baseAddress, buffer.count)
      } while result < 0 && errno == EINTR
      count = max(result, 0)
    }
  }
}

/// Writes so that a pipe without a reader is an error and does not end the tests. The signal is not
/// ignored for good: tests whose output is no longer read should end.
///
/// - Parameter body: Writes, and returns what `write` did.
/// - Returns: What the body returned, and `errno` after it.
private func withoutBrokenPipe(_ body: () -> Int) -> (count: Int, code: Int32) {
  var (signals, before) = (sigset_t(), sigset_t())
  sigemptyset(&signals)
  sigaddset(&signals, SIGPIPE)
  pthread_sigmask(SIG_BLOCK, &signals, &before)
  let count = body()
  let code = count < 0 ? errno : 0
  if code == EPIPE {
    // Sent to this thread; taken, before it may come again.
    var none = timespec()
    sigtimedwait(&signals, nil, &none)
  }
  pthread_sigmask(SIG_SETMASK, &before, nil)
  return (count, code)
}
