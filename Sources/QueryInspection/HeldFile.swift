package import FoundationEssentials
import Glibc

/// An open file that is closed with its last reference: what `FileHandle` is, without the rest of
/// Foundation.
package final class HeldFile: Sendable {
  private let descriptor: Int32

  /// A call of the system that failed.
  package struct Failure: Error, CustomStringConvertible {
    /// The value of `errno`.
    package let number: Int32

    package var description: String { String(cString: strerror(self.number)) }
  }

  /// Takes an open descriptor over.
  ///
  /// - Parameter descriptor: The descriptor, which nobody else closes.
  package init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(self.descriptor) }

  /// Writes all of the bytes.
  ///
  /// - Throws: ``Failure``.
  package func write(_ data: Data) throws(Failure) {
    var rest = Array(data)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(self.descriptor, $0.baseAddress, $0.count) }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        throw Failure(number: errno)
      }
    }
  }

  /// Waits until the disk has what was written.
  ///
  /// - Throws: ``Failure``.
  package func synchronise() throws(Failure) {
    while fsync(self.descriptor) != 0 { if errno != EINTR { throw Failure(number: errno) } }
  }

  /// The next bytes of a descriptor, which stays open; empty at its end.
  ///
  /// - Parameters:
  ///   - descriptor: The descriptor.
  ///   - limit: How many bytes there are at most.
  /// - Throws: ``Failure``.
  package static func read(_ descriptor: Int32, atMost limit: Int) throws(Failure) -> Data {
    var bytes = [UInt8](repeating: 0, count: limit)
    while true {
      let count = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, limit) }
      if count >= 0 { return Data(bytes.prefix(count)) }
      if errno != EINTR { throw Failure(number: errno) }
    }
  }
}
