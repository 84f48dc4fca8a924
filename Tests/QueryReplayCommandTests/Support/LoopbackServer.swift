import Foundation
import Glibc
import Query
import TestSupport

/// An HTTP server on the loopback interface, which answers each request as a test says. Each
/// connection serves one request, on a thread of its own. It runs until it is released.
final class LoopbackServer: Sendable {
  /// A request as it arrived.
  struct Request: Sendable {
    var method: String
    /// The names are in lower case.
    var headers: [String: String]
  }

  /// What is answered.
  enum Answer: Sendable {
    case status(Int)
    /// Nothing, as long as the server runs.
    case silence
  }

  let url: URL
  let requests = Recorder<Request>()

  private let socket: Int32
  private let silent = Locked([Int32]())

  /// - Parameter script: Answers a request, given how many there were with this one.
  /// - Throws: `POSIXError` where no socket can be had.
  init(_ script: @escaping @Sendable (Request, _ number: Int) -> Answer) throws {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
    guard socket >= 0 else { throw POSIXError(.ENOTSOCK) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(socket, address, length) == 0 && listen(socket, 64) == 0
          && getsockname(socket, address, &length) == 0
      }
    }
    guard isListening,
      let url = URL(string: "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/notes")
    else {
      close(socket)
      throw POSIXError(.EADDRNOTAVAIL)
    }
    (self.socket, self.url) = (socket, url)
    let (requests, silent, count) = (self.requests, self.silent, Counter())
    Thread.detachNewThread {
      while true {
        let connection = Glibc.accept(socket, nil, nil)
        guard connection >= 0 else { break }
        Thread.detachNewThread {
          guard let request = Self.read(connection) else {
            close(connection)
            return
          }
          let answer = script(request, count.increment())
          // Before the answer, so that who has it finds the request.
          requests.append(request)
          Self.send(answer, to: connection, silent)
        }
      }
      close(socket)
    }
  }

  deinit {
    // Ends `accept`.
    shutdown(self.socket, Int32(SHUT_RDWR))
    for connection in self.silent.withLock({ $0 }) { close(connection) }
  }

  private static func send(_ answer: Answer, to connection: Int32, _ silent: Locked<[Int32]>) {
    guard case .status(let status) = answer else {
      silent.withLock { $0.append(connection) }
      return
    }
    let text = "HTTP/1.1 \(status) S\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    _ = text.withCString { Glibc.send(connection, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
    close(connection)
  }

  /// Reads the head of a request, and its body, which is not looked at.
  private static func read(_ connection: Int32) -> Request? {
    var received = [UInt8]()
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    var head: Range<Int>?
    while head == nil {
      let count = recv(connection, &buffer, buffer.count, 0)
      guard count > 0 else { return nil }
      received += buffer.prefix(count)
      head = received.firstRange(of: Array("\r\n\r\n".utf8))
    }
    guard let head else { return nil }
    let lines = String(decoding: received[..<head.lowerBound], as: UTF8.self)
      .components(separatedBy: "\r\n")
    var headers = [String: String]()
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      headers[line[..<colon].lowercased()] = line[line.index(after: colon)...]
        .trimmingCharacters(in: .whitespaces)
    }
    var missing = (headers["content-length"].flatMap { Int($0) } ?? 0) - received.count
    missing += head.upperBound
    while missing > 0 {
      let count = recv(connection, &buffer, buffer.count, 0)
      guard count > 0 else { return nil }
      missing -= count
    }
    return Request(method: String((lines.first ?? "").prefix { $0 != " " }), headers: headers)
  }
}
