import Glibc

/// The sockets of an engine's connections. Belongs to its thread.
final class OpenSockets {
  private var sockets = Set<Int32>()

  func insert(_ socket: Int32) { self.sockets.insert(socket) }

  func remove(_ socket: Int32) { self.sockets.remove(socket) }

  /// Whether something waits to be read, bytes or the end, on one with this port on our side.
  func anyIsReadable(localPort: Int32) -> Bool {
    self.sockets.contains { Self.localPort(of: $0) == localPort && Self.isReadable($0) }
  }

  private static func localPort(of socket: Int32) -> Int32? {
    var address = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
        guard getsockname(socket, name, &length) == 0 else { return nil }
        // IPv6 has it in the same place.
        return pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
          Int32(UInt16(bigEndian: $0.pointee.sin_port))
        }
      }
    }
  }

  private static func isReadable(_ socket: Int32) -> Bool {
    var wait = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
    return poll(&wait, 1, 0) > 0
  }
}
