import Foundation

/// The socket on which a service manager listens.
final class ServiceManagerSocket: Sendable {
  /// As `NOTIFY_SOCKET` has it: with @ for the zero of an abstract name.
  let name: String
  private let descriptor: Int32

  init(name: String) throws {
    self.name = name
    self.descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var path = Array(name.utf8)
    if path.first == UInt8(ascii: "@") { path[0] = 0 }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
    let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 0
    let code = withUnsafePointer(to: address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(self.descriptor, $0, socklen_t(start + path.count))
      }
    }
    if code != 0 { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    // So that a test whose service is silent fails, and does not hang.
    var patience = timeval(tv_sec: 60, tv_usec: 0)
    setsockopt(
      self.descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(self.descriptor) }

  /// The next thing that is told; empty if nothing is.
  func receive() -> String {
    let bytes = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
      count = max(0, recv(self.descriptor, buffer.baseAddress, buffer.count, 0))
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
