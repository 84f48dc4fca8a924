public import Foundation
import Glibc
import Query

/// A request as a server received it.
public struct ReceivedRequest: Sendable {
  /// `GET /posts/1 HTTP/1.1`
  public var line: String
  /// The names are in lower case.
  public var headers: [String: String]
  public var body: [UInt8]

  public var method: String { String(self.line.prefix { $0 != " " }) }
}

/// An HTTP server on the loopback interface that answers as the test says. Each connection serves one
/// request, unless it is told to keep them, on a thread of its own unless it is told to be serial. It runs until it is released.
public final class LoopbackServer: Sendable {
  public enum Answer: Sendable {
    case status(Int, headers: [String: String] = [:], body: String = "")
    /// A body that is no text.
    case bytes(Int, headers: [String: String], [UInt8])
    /// These bytes, and the end of the connection.
    case raw(String)
    /// What the test sends, as it comes, and then the end of the connection.
    case pieces(StreamScript)
    /// Nothing, until the test ends.
    case silence
    /// A byte of this now and then, and never the end.
    case drops(String)
    /// This, when the test opens the gate.
    indirect case afterGate(Gate, Answer)

    /// Whether the connection ends with it.
    fileprivate var isLast: Bool {
      switch self {
      case .raw, .drops, .pieces: true
      case .afterGate(_, let answer): answer.isLast
      case .status, .bytes, .silence: false
      }
    }
  }

  /// The server stops reading in the middle of the first body that is longer, until a gate opens.
  public struct BodyStop: Sendable {
    let bytes: Int
    let gate: Gate

    /// - Parameters:
    ///   - bytes: After how many bytes it stops. The system takes some more from the client.
    ///   - gate: It goes on when this opens.
    public init(after bytes: Int, gate: Gate) {
      self.bytes = bytes
      self.gate = gate
    }
  }

  /// Its address, with a path.
  public let url: URL
  /// What has arrived, before it is answered.
  public let requests = Recorder<ReceivedRequest>()

  /// How many bytes were sent, with the headers.
  public var sentBytes: Int { self.sent.withLock { $0 } }

  private let sent: Locked<Int>
  private let socket: Int32
  private let connections = Locked([Int32]())

  /// Starts a server on a free port.
  ///
  /// - Parameters:
  ///   - isSerial: Whether connections are served one after another, in the order in which they were
  ///     made, so that the order of ``requests`` is that of the clients.
  ///   - keepsConnections: Whether a connection serves one request after another, until one asks for
  ///     its end or is answered with bytes.
  ///   - bodyStop: Lets it stop reading in the middle of a body, once.
  ///   - script: Answers a request, given how many there were with this one.
  /// - Throws: `POSIXError` if no socket can be opened.
  public init(
    isSerial: Bool = false,
    keepsConnections: Bool = false,
    bodyStop: BodyStop? = nil,
    _ script: @escaping @Sendable (ReceivedRequest, _ number: Int) -> Answer
  ) throws {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
    guard socket >= 0 else { throw POSIXError(.ENOTSOCK) }
    if bodyStop != nil {
      // What the system takes from a client that nobody reads from.
      var size = Int32(64 << 10)
      setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }
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
    self.socket = socket
    self.url = url
    let sent = Locked(0)
    self.sent = sent
    let (requests, connections) = (self.requests, self.connections)
    let stop = Locked(bodyStop)
    Thread.detachNewThread {
      Self.accept(socket, isSerial, keepsConnections, stop, requests, connections, sent, script)
    }
  }

  /// Starts a server that answers each request with the same JSON.
  ///
  /// - Throws: `POSIXError` if no socket can be opened.
  public convenience init(body: String) throws {
    try self.init { _, _ in
      .status(200, headers: ["Content-Type": "application/json"], body: body)
    }
  }

  /// Its address, without a path and without a slash at the end.
  public var root: String { "http://127.0.0.1:\(self.url.port ?? 0)" }

  deinit {
    // Ends `accept`, and the reads of clients that wait in silence.
    shutdown(self.socket, Int32(SHUT_RDWR))
    for connection in self.connections.withLock({ $0 }) { close(connection) }
  }

  private static func accept(
    _ socket: Int32, _ isSerial: Bool, _ isKeeping: Bool, _ stop: Locked<BodyStop?>,
    _ requests: Recorder<ReceivedRequest>, _ silent: Locked<[Int32]>, _ sent: Locked<Int>,
    _ script: @escaping @Sendable (ReceivedRequest, Int) -> Answer
  ) {
    let count = Counter()
    let serve = { @Sendable (connection: Int32) in
      while let request = Self.read(connection, stop) {
        requests.append(request)
        let answer = script(request, count.increment())
        if case .silence = answer {
          silent.withLock { $0.append(connection) }
          return
        }
        let isKept = isKeeping && request.headers["connection"] != "close" && !answer.isLast
        Self.send(answer, to: connection, isKept: isKept, sent)
        if !isKept { break }
      }
      close(connection)
    }
    while true {
      let connection = Glibc.accept(socket, nil, nil)
      guard connection >= 0 else { break }
      if isSerial {
        serve(connection)
      } else {
        Thread.detachNewThread { serve(connection) }
      }
    }
    close(socket)
  }

  private static func send(
    _ answer: Answer, to connection: Int32, isKept: Bool = false, _ sent: Locked<Int>? = nil
  ) {
    let text: String
    var rest = [UInt8]()
    switch answer {
    case .silence: return
    case .afterGate(let gate, let answer):
      Self.wait(at: gate)
      return Self.send(answer, to: connection, isKept: isKept, sent)
    case .drops(let drops):
      for byte in drops.utf8 {
        guard Self.send([byte], to: connection) else { return }
        Thread.sleep(forTimeInterval: 0.05)
      }
      return
    case .pieces(let script):
      while let piece = script.next() {
        guard Self.send(piece, to: connection) else { return }
      }
      return
    case .raw(let raw): text = raw
    case .status(let status, let headers, let body):
      return Self.send(
        .bytes(status, headers: headers, Array(body.utf8)), to: connection, isKept: isKept, sent)
    case .bytes(let status, let headers, let body):
      let lines = headers.map { "\($0): \($1)\r\n" }.joined()
      text =
        "HTTP/1.1 \(status) Status\r\n\(lines)Content-Length: \(body.count)\r\n"
        + (isKept ? "" : "Connection: close\r\n") + "\r\n"
      rest = body
    }
    let bytes = Array(text.utf8) + rest
    sent?.withLock { $0 += bytes.count }
    Self.send(bytes, to: connection)
  }

  private static func wait(at gate: Gate) {
    let isOpen = DispatchSemaphore(value: 0)
    Task {
      await gate.passIgnoringCancellation()
      isOpen.signal()
    }
    isOpen.wait()
  }

  @discardableResult
  private static func send(_ bytes: [UInt8], to connection: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  private static func read(_ connection: Int32, _ stop: Locked<BodyStop?>) -> ReceivedRequest? {
    var received = [UInt8]()
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    let end = Array("\r\n\r\n".utf8)
    var head: Range<Int>?
    while head == nil {
      let count = recv(connection, &buffer, buffer.count, 0)
      guard count > 0 else { return nil }
      received += buffer.prefix(count)
      head = received.firstRange(of: end)
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
    var body = Array(received[head.upperBound...])
    let length = headers["content-length"].flatMap { Int($0) } ?? 0
    if headers["expect"]?.lowercased() == "100-continue", body.isEmpty {
      Self.send(.raw("HTTP/1.1 100 Continue\r\n\r\n"), to: connection)
    }
    while body.count < length {
      let count = recv(connection, &buffer, buffer.count, 0)
      guard count > 0 else { break }
      body += buffer.prefix(count)
      let reached = stop.withLock { stop -> BodyStop? in
        guard let reached = stop, body.count >= reached.bytes else { return nil }
        stop = nil
        return reached
      }
      if let reached { Self.wait(at: reached.gate) }
    }
    return ReceivedRequest(line: lines.first ?? "", headers: headers, body: body)
  }
}
