import Foundation
import Glibc

/// An HTTP server for a network namespace of its own, which the process of the tests cannot enter. It keeps
/// its connections, and answers every request with a list of numbers, but `/silent` never.
struct NumberServer {
  let port: UInt16

  /// Serves until it is killed, each connection on a thread of its own; says "connection PORT" of each, with
  /// the port of the client, and "request PORT" of each request.
  func serve(_ say: @escaping @Sendable (String) -> Void) throws {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = self.port.bigEndian
    let isListening = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(socket, address, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
          && listen(socket, 8) == 0
      }
    }
    guard isListening else { throw POSIXError(.EADDRNOTAVAIL) }
    say("serving")
    while true {
      var client = sockaddr_in()
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let connection = withUnsafeMutablePointer(to: &client) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { accept(socket, $0, &length) }
      }
      let clientPort = UInt16(bigEndian: client.sin_port)
      say("connection \(clientPort)")
      Thread.detachNewThread { Self.answer(connection, from: clientPort, say) }
    }
  }

  private static func answer(_ connection: Int32, from port: UInt16, _ say: (String) -> Void) {
    defer { close(connection) }
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    while true {
      var received = ""
      while !received.contains("\r\n\r\n") {
        let count = recv(connection, &buffer, buffer.count, 0)
        guard count > 0 else { return }
        // The acknowledgement is not held back until the client has another address.
        var isQuick: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        setsockopt(connection, Int32(IPPROTO_TCP), TCP_QUICKACK, &isQuick, size)
        received += String(decoding: buffer.prefix(count), as: UTF8.self)
      }
      say("request \(port)")
      if received.hasPrefix("GET /silent ") { continue }
      let answer = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n[1]"
      _ = send(connection, answer, answer.utf8.count, Int32(MSG_NOSIGNAL))
    }
  }
}
