import Glibc
import SystemMainLoop

// As the article AsAService has it, for programs to copy.

/// Tells systemd how this program is, if systemd has started it and wants to know: a datagram to the socket
/// that it names. No library is needed.
func notify(_ state: String) {
  guard let name = getenv("NOTIFY_SOCKET").map({ String(cString: $0) }) else { return }
  var path = Array(name.utf8)
  // A name that no file has begins with a zero, written as @.
  if path.first == UInt8(ascii: "@") { path[0] = 0 }
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  guard path.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
  withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
  let length = MemoryLayout<sockaddr_un>.offset(of: \.sun_path).map { $0 + path.count } ?? 0
  let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
  let descriptor = socket(AF_UNIX, kind, 0)
  guard descriptor >= 0 else { return }
  defer { close(descriptor) }
  withUnsafePointer(to: address) { address in
    address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
      _ = sendto(
        descriptor, state, state.utf8.count, Int32(MSG_NOSIGNAL), address,
        socklen_t(length))
    }
  }
}

/// Tells systemd again and again that the main actor runs, at twice the pace that it asks for. If the main
/// actor hangs, the service is started again.
func feedWatchdog() -> Task<Void, Never> {
  Task { @MainActor in
    guard let text = getenv("WATCHDOG_USEC"), let interval = Int(String(cString: text)) else {
      return
    }
    while !Task.isCancelled {
      notify("WATCHDOG=1")
      try? await Task.sleep(for: .microseconds(interval / 2))
    }
  }
}

extension MainLoopWorker {
  /// A service that systemd watches, until `SIGTERM`.
  static func serve() async throws {
    let feeding = feedWatchdog()
    notify("READY=1")
    try await MainLoop.run()
    notify("STOPPING=1")
    feeding.cancel()
  }
}
