import Foundation
import Glibc
import TestSupport
import Testing

/// A system bus that takes connections and never says anything, as one whose process is stopped.
@Suite struct SilentBusTests {
  private let folder: ScratchFolder

  init() throws { self.folder = try ScratchFolder() }

  /// A socket at this path: the kernel takes connections for it, and nobody reads them.
  private func listen(at path: String) throws -> Int32 {
    let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    try #require(path.utf8.count < 100)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let length = socklen_t(MemoryLayout<sockaddr_un>.size)
    let isListening = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, length) == 0 && Glibc.listen(socket, 8) == 0
      }
    }
    try #require(isListening)
    return socket
  }

  @Test func theStatusIsAHintUntilTheSystemAnswers() async throws {
    let path = self.folder.url.appending(path: "bus").path(percentEncoded: false)
    let bus = try self.listen(at: path)
    let watcher = try WatcherProcess(environment: [
      "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(path)",
      "GIO_USE_NETWORK_MONITOR": "networkmanager",
    ])
    #expect(await watcher.line() == "ready")
    #expect(try await watcher.ask("current") == "current connected")
    #expect(try await watcher.ask("metered") == "metered false")
    #expect(try await watcher.ask("subscribe") == "status connected")
    // The connection that nobody reads breaks, and GIO goes on without the bus.
    close(bus)
    #expect(try await watcher.ask("reach http://127.0.0.1/")?.hasPrefix("reach") == true)
    #expect(try await watcher.ask("cancel") == "cancelled")
  }
}
