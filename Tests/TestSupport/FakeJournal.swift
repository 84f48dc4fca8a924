import Foundation

/// A socket that takes what a program sends to the journal of systemd.
package final class FakeJournal: Sendable {
  /// The path of the socket.
  package let path: String
  private let descriptor: Int32

  /// It was no message of the protocol.
  package struct Malformed: Error {}

  /// Begins to listen.
  package init() throws {
    self.path =
      FileManager.default.temporaryDirectory
      .appending(path: "journal-\(UUID().uuidString.prefix(13))").path
    self.descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(self.path.utf8)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let status = withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(self.descriptor, $0, size) }
    }
    // If nobody sends a message, the wait for it fails and does not hang.
    var limit = timeval(tv_sec: 60, tv_usec: 0)
    setsockopt(
      self.descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    guard self.descriptor >= 0, status == 0 else {
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
  }

  deinit {
    self.end()
    close(self.descriptor)
  }

  /// Ends it: nobody listens any more.
  package func end() {
    unlink(self.path)
    shutdown(self.descriptor, Int32(SHUT_RDWR))
  }

  /// The fields of the next message; waits for it.
  package func receive() throws -> [String: String] {
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = recv(self.descriptor, &bytes, bytes.count, 0)
    guard count >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    return try Self.fields(bytes.prefix(count))
  }

  /// Reads the protocol: `NAME=value`, or the name, eight bytes of length, and the value.
  private static func fields(_ datagram: ArraySlice<UInt8>) throws -> [String: String] {
    var fields = [String: String]()
    var rest = datagram
    while !rest.isEmpty {
      guard let end = rest.firstIndex(where: { $0 == 0x0a || $0 == 0x3d }) else {
        throw Malformed()
      }
      let name = String(decoding: rest[..<end], as: UTF8.self)
      let value: ArraySlice<UInt8>
      if rest[end] == 0x3d {
        value = rest[(end + 1)...].prefix { $0 != 0x0a }
      } else {
        let length = rest[(end + 1)...].prefix(8).reversed().reduce(0) { $0 << 8 | Int($1) }
        value = rest[(end + 9)...].prefix(length)
        guard value.count == length else { throw Malformed() }
      }
      guard value.endIndex < rest.endIndex, rest[value.endIndex] == 0x0a, fields[name] == nil else {
        throw Malformed()
      }
      fields[name] = String(decoding: value, as: UTF8.self)
      rest = rest[(value.endIndex + 1)...]
    }
    return fields
  }
}
