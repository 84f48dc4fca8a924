import Foundation

/// Reads one answer of HTTP/1.1.
struct HTTPAnswerReader {
  private static let maximumBytes = 16 << 20
  private static let lineFeed = Array("\r\n".utf8)

  private let socket: CheckSocket
  private var bytes = [UInt8]()

  /// Reads the answer that a connection gives.
  ///
  /// - Throws: `CheckSocket.Failure` if it ends too early, or is no answer.
  static func read(_ socket: CheckSocket) throws(CheckSocket.Failure) -> CheckAnswer {
    var reader = Self(socket: socket)
    while true {
      let answer = try reader.answer()
      // What is said while it works is no answer.
      if answer.status >= 200 { return answer }
    }
  }

  private mutating func answer() throws(CheckSocket.Failure) -> CheckAnswer {
    let head = try self.line().unicodeScalars.split(separator: " ", maxSplits: 2).map(String.init)
    guard head.count > 1, head[0].hasPrefix("HTTP/1."), let status = Int(head[1]) else {
      throw Self.broken
    }
    var answer = CheckAnswer(status: status, headers: [:], body: Data())
    while true {
      let line = try self.line()
      if line.isEmpty { break }
      // By scalars: a value may begin with a combining mark, which makes one character with what is before.
      guard let colon = line.unicodeScalars.firstIndex(of: ":") else { throw Self.broken }
      let value = String(line.unicodeScalars[colon...].dropFirst())
        .trimmingCharacters(in: .whitespaces)
      let name = line[..<colon].lowercased()
      answer.headers[name] = answer.headers[name].map { "\($0), \(value)" } ?? value
    }
    if status < 200 || status == 204 || status == 304 { return answer }
    answer.body = Data(try self.body(answer.headers))
    return answer
  }

  private mutating func body(
    _ headers: [String: String]
  ) throws(CheckSocket.Failure) -> [UInt8] {
    if headers["transfer-encoding"]?.lowercased() == "chunked" { return try self.chunks() }
    if let text = headers["content-length"] {
      guard let length = Int(text) else { throw Self.broken }
      return try self.take(length)
    }
    while try self.receive() {}
    return self.bytes
  }

  private mutating func chunks() throws(CheckSocket.Failure) -> [UInt8] {
    var body = [UInt8]()
    while true {
      let size = String(try self.line().unicodeScalars.prefix { $0 != ";" })
        .trimmingCharacters(in: .whitespaces)
      guard let length = Int(size, radix: 16), body.count <= Self.maximumBytes else {
        throw Self.broken
      }
      if length == 0 { return body }
      body += try self.take(length)
      _ = try self.line()
    }
  }

  private mutating func line() throws(CheckSocket.Failure) -> String {
    while true {
      if let end = self.bytes.firstRange(of: Self.lineFeed) {
        let line = String(decoding: self.bytes[..<end.lowerBound], as: UTF8.self)
        self.bytes.removeSubrange(..<end.upperBound)
        return line
      }
      guard try self.receive() else { throw CheckSocket.Failure(words: "the connection ended") }
    }
  }

  private mutating func take(_ length: Int) throws(CheckSocket.Failure) -> [UInt8] {
    guard (0...Self.maximumBytes).contains(length) else { throw Self.broken }
    while self.bytes.count < length {
      guard try self.receive() else { throw CheckSocket.Failure(words: "the answer was cut off") }
    }
    let body = Array(self.bytes.prefix(length))
    self.bytes.removeFirst(length)
    return body
  }

  private mutating func receive() throws(CheckSocket.Failure) -> Bool {
    guard self.bytes.count <= Self.maximumBytes else { throw Self.broken }
    let more = try self.socket.receive()
    self.bytes += more
    return !more.isEmpty
  }

  private static var broken: CheckSocket.Failure {
    CheckSocket.Failure(words: "what came is no answer of HTTP/1.1")
  }
}
