import Glibc

/// The sockets of an engine's connections. Belongs to its thread.
final class OpenSockets {
  private var sockets = Set<Int32>()

  func insert(_ socket: Int32) { self.sockets.insert(socket) }

  func remove(_ socket: Int32) { self.sockets.remove(socket) }

  func contains(_ socket: Int32) -> Bool { self.sockets.contains(socket) }

  /// The one of a connection between these ports. Connections to several servers may share one on our side.
  func socket(localPort: Int32, remotePort: Int32) -> Int32? {
    let sockets = self.sockets.filter { Self.port(of: $0, getsockname) == localPort }
    return sockets.first { Self.port(of: $0, getpeername) == remotePort } ?? sockets.first
  }

  private typealias NameFunction = (
    Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>
  ) -> Int32

  /// Calls a closure with an end's address.
  private static func withName<Result>(
    of socket: Int32, _ name: NameFunction,
    _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Result
  ) -> Result? {
    var address = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        name(socket, $0, &length) == 0 ? body($0, length) : nil
      }
    }
  }

  private static func port(of socket: Int32, _ name: NameFunction) -> Int32? {
    Self.withName(of: socket, name) { name, _ in
      // IPv6 has it in the same place.
      name.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
        Int32(UInt16(bigEndian: $0.pointee.sin_port))
      }
    }
  }
}

// MARK: - Their state

extension OpenSockets {
  /// Whether something waits to be read, bytes or the end.
  static func isReadable(_ socket: Int32) -> Bool {
    var wait = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
    return poll(&wait, 1, 0) > 0
  }

  /// Whether this machine has lost the address that the connection is from: no answer can come then.
  static func hasLostItsAddress(_ socket: Int32) -> Bool {
    Self.withName(of: socket, getsockname) { name, length in
      let probe = Glibc.socket(
        Int32(name.pointee.sa_family), Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      if probe < 0 { return false }
      defer { close(probe) }
      // IPv6 has it in the same place. Any port will do.
      name.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { $0.pointee.sin_port = 0 }
      return bind(probe, name, length) != 0 && errno == EADDRNOTAVAIL
    } ?? false
  }

  /// Limits for how long the other end may leave unacknowledged what it was sent.
  ///
  /// - Parameter time: Zero: the system decides, and takes many minutes.
  static func limitAcknowledgement(of socket: Int32, to time: Duration) {
    var milliseconds = UInt32(time / .milliseconds(1))
    setsockopt(
      socket, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &milliseconds,
      socklen_t(MemoryLayout<UInt32>.size))
  }
}
