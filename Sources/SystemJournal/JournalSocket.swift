import Glibc

/// A socket that is connected with the journal's.
final class JournalSocket: Sendable {
  private let descriptor: Int32

  /// Connects; nil if there is no journal.
  init?(_ path: String) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    let fits = withUnsafeMutableBytes(of: &address.sun_path) { place in
      // One remains for the zero at its end.
      guard bytes.count < place.count else { return false }
      place.copyBytes(from: bytes)
      return true
    }
    let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = fits ? socket(AF_UNIX, kind, 0) : -1
    guard descriptor >= 0 else { return nil }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let status = withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
    }
    guard status == 0 else {
      close(descriptor)
      return nil
    }
    self.descriptor = descriptor
  }

  deinit { close(self.descriptor) }

  /// Sends a datagram. Returns whether the journal has it.
  func send(_ datagram: [UInt8]) -> Bool {
    let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
    while true {
      let count = Glibc.send(self.descriptor, datagram, datagram.count, flags)
      if count >= 0 { return true }
      if errno != EINTR { return false }
    }
  }
}
