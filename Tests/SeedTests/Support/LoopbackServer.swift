import Foundation
import Glibc
import TestSupport

/// An HTTP server on the loopback interface that answers every request with the same body.
///
/// It serves one request a connection, on a thread of its own, until it is released.
final class LoopbackServer: Sendable {
  /// Where the server is reached, without a slash at the end.
  let url: String

  /// The request lines so far: `GET /posts/1 HTTP/1.1`.
  let requestLines: Recorder<String>

  private let socket: Int32

  /// Starts a server on a free port.
  ///
  /// - Parameter body: What every request is answered with, as JSON.
  /// - Throws: `POSIXError` where no socket can be had.
  init(body: String) throws {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard socket >= 0 else { throw POSIXError(.ENOTSOCK) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(socket, address, length) == 0 && listen(socket, 8) == 0
          && getsockname(socket, address, &length) == 0
      }
    }
    guard isListening else {
      close(socket)
      throw POSIXError(.EADDRNOTAVAIL)
    }
    let requestLines = Recorder<String>()
    self.socket = socket
    self.requestLines = requestLines
    self.url = "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))"
    Thread.detachNewThread { serve(socket, body, requestLines) }
  }

  deinit {
    // Ends `accept` on the thread, which closes the socket.
    shutdown(self.socket, Int32(SHUT_RDWR))
  }
}

private func serve(_ socket: Int32, _ body: String, _ requestLines: Recorder<String>) {
  while true {
    let connection = accept(socket, nil, nil)
    guard connection >= 0 else { break }
    requestLines.append(readRequestLine(connection))
    let response = """
      HTTP/1.1 200 OK\r
      Content-Type: application/json\r
      Content-Length: \(body.utf8.count)\r
      Connection: close\r
      \r
      \(body)
      """
    let bytes = Array(response.utf8)
    _ = send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    close(connection)
  }
  close(socket)
}

private func readRequestLine(_ connection: Int32) -> String {
  var received = [UInt8]()
  var buffer = [UInt8](repeating: 0, count: 4096)
  // A request without a body ends with an empty line.
  while !received.suffix(4).elementsEqual("\r\n\r\n".utf8) {
    let count = recv(connection, &buffer, buffer.count, 0)
    guard count > 0 else { break }
    received += buffer.prefix(count)
  }
  return String(String(decoding: received, as: UTF8.self).prefix { !$0.isNewline })
}
