import Foundation

/// HTTP over a socket of its own for each request, without encryption: so that it can be closed at any
/// moment, and several requests come to their end together.
struct SocketTransport: CheckTransport {
  func outcomes(of requests: [CheckRequest]) async -> [CheckOutcome] {
    await onThread { Self.send(requests) }
  }

  func abandon(_ request: CheckRequest) async -> String? {
    await onThread {
      do throws(CheckSocket.Failure) {
        // It is closed with its last reference.
        try CheckSocket(to: request.url).send(Self.bytes(of: request)[...])
        return String?.none
      } catch {
        return error.words
      }
    }
  }

  /// All but the last byte of each, then the last bytes, one right after another: so no server carries
  /// one out before it has the others.
  private static func send(_ requests: [CheckRequest]) -> [CheckOutcome] {
    let bytes = requests.map(Self.bytes)
    var failures = [Int: CheckOutcome]()
    var sockets = [Int: CheckSocket]()
    for (index, request) in requests.enumerated() {
      do throws(CheckSocket.Failure) {
        let socket = try CheckSocket(to: request.url)
        try socket.send(bytes[index].dropLast())
        sockets[index] = socket
      } catch {
        failures[index] = .unreached(error.words)
      }
    }
    for (index, socket) in sockets.sorted(by: { $0.key < $1.key }) {
      do throws(CheckSocket.Failure) { try socket.send(bytes[index].suffix(1)) } catch {
        failures[index] = .unanswered(error.words)
      }
    }
    return requests.indices.map { index in
      if let failure = failures[index] { return failure }
      guard let socket = sockets[index] else { return .unreached("no socket") }
      do throws(CheckSocket.Failure) { return .answer(try HTTPAnswerReader.read(socket)) } catch {
        return .unanswered(error.words)
      }
    }
  }

  private static func bytes(of request: CheckRequest) -> [UInt8] {
    let parts = URLComponents(url: request.url, resolvingAgainstBaseURL: true)
    var path = parts?.percentEncodedPath ?? ""
    if path.isEmpty { path = "/" }
    if let query = parts?.percentEncodedQuery { path += "?\(query)" }
    var host = parts?.percentEncodedHost ?? ""
    if let port = parts?.port { host += ":\(port)" }
    var lines = ["\(request.method) \(path) HTTP/1.1", "Host: \(host)", "Connection: close"]
    lines += request.headers.map { "\($0.name): \($0.value)" }
    if request.method != "GET" { lines.append("Content-Length: \(request.body.count)") }
    return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + request.body
  }
}

/// A connection that is closed with its last reference.
final class CheckSocket {
  /// How long anything may take.
  private static let patience = 30

  private let descriptor: Int32

  /// What went wrong with a connection.
  struct Failure: Error {
    let words: String
  }

  /// - Throws: ``Failure`` if there is nobody at its host and port.
  init(to url: URL) throws(Failure) {
    let host = (url.host(percentEncoded: false) ?? "").trimmingCharacters(in: ["[", "]"])
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(host, "\(url.port ?? (url.scheme == "https" ? 443 : 80))", &hints, &list)
    defer { freeaddrinfo(list) }
    guard code == 0 else { throw Failure(words: String(cString: gai_strerror(code))) }
    var next = list
    var reason = "no address"
    while let info = next?.pointee {
      let descriptor = socket(info.ai_family, info.ai_socktype | O_CLOEXEC, info.ai_protocol)
      if descriptor >= 0 {
        var time = timeval(tv_sec: Self.patience, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
          setsockopt(descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
        }
        let isConnected = connect(descriptor, info.ai_addr, info.ai_addrlen) == 0
        if isConnected, !Self.isItsOwnPeer(descriptor) {
          self.descriptor = descriptor
          return
        }
        if isConnected { errno = ECONNREFUSED }
      }
      reason = String(cString: strerror(errno))
      close(descriptor)
      next = info.ai_next
    }
    throw Failure(words: reason)
  }

  deinit { close(self.descriptor) }

  /// If nobody listens, a connection on this machine may be given the port that it wants to reach,
  /// and connect to itself.
  private static func isItsOwnPeer(_ descriptor: Int32) -> Bool {
    func name(
      _ read: (Int32, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?) -> Int32
    ) -> [UInt8] {
      var storage = sockaddr_storage()
      var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
      return withUnsafeMutablePointer(to: &storage) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          _ = read(descriptor, $0, &length)
        }
        return Array(UnsafeRawBufferPointer(start: pointer, count: Int(length)))
      }
    }
    return name(getsockname) == name(getpeername)
  }

  /// Sends all of it.
  ///
  /// - Throws: ``Failure``.
  func send(_ bytes: ArraySlice<UInt8>) throws(Failure) {
    var rest = bytes
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        Foundation.send(self.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        throw Self.failure
      }
    }
  }

  /// Waits for more bytes; empty at the end.
  ///
  /// - Throws: ``Failure``.
  func receive() throws(Failure) -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    while true {
      let count = recv(self.descriptor, &buffer, buffer.count, 0)
      if count >= 0 { return Array(buffer.prefix(count)) }
      if errno != EINTR { throw Self.failure }
    }
  }

  private static var failure: Failure {
    if errno == EAGAIN || errno == EWOULDBLOCK {
      return Failure(words: "nothing within \(Self.patience) s")
    }
    return Failure(words: String(cString: strerror(errno)))
  }
}
