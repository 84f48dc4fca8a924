import Foundation
import Glibc

/// An HTTP server for a network namespace of its own, which the process of the tests cannot enter: it
/// takes every request, and says which key it came with and when.
struct NoteServer {
  let port: UInt16

  /// Serves until it is killed, one connection after another.
  func serve(_ say: (String) -> Void) throws {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = self.port.bigEndian
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(socket, address, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
          && listen(socket, 8) == 0
      }
    }
    guard isListening else { throw POSIXError(.EADDRNOTAVAIL) }
    say("serving")
    while true {
      let connection = accept(socket, nil, nil)
      if let key = Self.key(of: connection) {
        say("received \(key) \(Int(Date().timeIntervalSince1970 * 1_000))")
        let answer = "HTTP/1.1 201 Created\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        _ = send(connection, answer, answer.utf8.count, Int32(MSG_NOSIGNAL))
      }
      close(connection)
    }
  }

  /// Reads a request with a short body, which comes with its head.
  private static func key(of connection: Int32) -> String? {
    var received = ""
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    while !received.contains("\r\n\r\n") {
      let count = recv(connection, &buffer, buffer.count, 0)
      guard count > 0 else { return nil }
      received += String(decoding: buffer.prefix(count), as: UTF8.self)
    }
    let field = received.split(separator: "\r\n").first {
      $0.lowercased().hasPrefix("idempotency-key:")
    }
    return field.map { $0.dropFirst(16).trimmingCharacters(in: .whitespaces) }
  }
}
