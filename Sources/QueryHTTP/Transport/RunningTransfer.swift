import CCurl
import Foundation
import FoundationNetworking
import Glibc
import Query

/// A transfer that libcurl carries out. Belongs to the engine's thread.
final class RunningTransfer {
  let transfer: Transfer
  /// An easy handle.
  let handle: UnsafeMutableRawPointer
  private var headers: UnsafeMutablePointer<curl_slist>?
  /// Where libcurl writes what went wrong.
  private let errorText: UnsafeMutablePointer<CChar>
  private var parser = AnswerHeadParser()
  private var hasHead = false
  /// What unpacks the body; nil: it comes as it is.
  private var decoder: ContentDecoder?
  /// Whether the body is packed as nobody asked for.
  private var isPackedOtherwise = false
  /// How much of the body libcurl has taken.
  private var offset: Int64 = 0
  /// How much of the body has been sent.
  private var sent: Int64 = 0
  /// When the last byte came or went.
  private var lastSign = ContinuousClock.now

  private let sockets: OpenSockets
  /// That of its connection, since the request may be sent.
  private var socket: Int32?
  /// Whether nothing was sent over its connection before.
  private var isConnectionNew = false
  /// Whether libcurl was allowed to send it over a connection that was used before.
  private var hasUsedOldConnection = false
  private var isAcknowledgementLimited = false
  /// When it is looked whether its connection can still be answered.
  private var nextLook = ContinuousClock.now + RunningTransfer.lookInterval
  /// Whether it was not sent since its connection is of no use: it may begin again, over a new one.
  private(set) var isConnectionStale = false

  /// - Parameters:
  ///   - transfer: What is carried out.
  ///   - sockets: Those of all connections of the engine.
  ///   - isConnectionNew: Whether it may not be sent over a connection that was used before.
  /// - Returns: nil if there is no memory for it.
  init?(_ transfer: Transfer, _ sockets: OpenSockets, isConnectionNew: Bool = false) {
    guard let handle = curl_easy_init() else { return nil }
    self.transfer = transfer
    self.sockets = sockets
    self.isConnectionNew = isConnectionNew
    self.handle = handle
    self.errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
    self.errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    guard self.configure() else { return nil }
  }

  deinit {
    curl_easy_cleanup(self.handle)
    curl_slist_free_all(self.headers)
    self.errorText.deallocate()
  }

  /// When it has taken too long, unless a byte comes or goes before.
  var deadline: ContinuousClock.Instant {
    let silent = self.lastSign + self.transfer.patience.silence
    return min(silent, self.transfer.lastMoment ?? silent)
  }

  /// How long a connection that was used before may leave a request unacknowledged, and how often a silent
  /// one is looked at.
  static let lookInterval = Duration.seconds(5)

  /// When the engine must look at it again.
  var nextDue: ContinuousClock.Instant { min(self.deadline, self.nextLook) }

  /// Ends it if it has taken too long, or if its answer cannot come any more, since this machine has no longer
  /// the address that it was sent from.
  func expire(at now: ContinuousClock.Instant) -> Bool {
    if self.deadline <= now {
      self.transfer.end(.failure(URLError(.timedOut)))
      return true
    }
    guard self.nextLook <= now else { return false }
    // A stream may be silent for hours.
    let silence = self.lastSign.duration(to: now)
    self.nextLook = now + min(max(silence, Self.lookInterval), .seconds(30))
    guard silence >= Self.lookInterval, let socket = self.socket,
      self.sockets.contains(socket), OpenSockets.hasLostItsAddress(socket)
    else { return false }
    self.transfer.end(.failure(URLError(.networkConnectionLost)))
    return true
  }

  /// Tells the receiver how libcurl has ended it.
  func end(_ code: CURLcode) {
    if code == CURLE_OK {
      // To libcurl a head that breaks off after its first line is an answer.
      let part = self.hasHead ? self.decoder?.isWhole == false ? "packed body" : nil : "header"
      self.transfer.end(
        part.map { .failure(URLError(CURLE_PARTIAL_FILE, text: "The answer ended in its \($0).")) }
          ?? .success(()))
    } else {
      let text = String(cString: self.errorText)
      let proxyStatus = ccurl_proxy_status(self.handle)
      self.transfer.end(.failure(URLError(code, text: text, proxyStatus: proxyStatus)))
    }
  }
}

// MARK: - Options

extension RunningTransfer {
  /// - Returns: Whether libcurl took all of it.
  private func configure() -> Bool {
    let me = Unmanaged.passUnretained(self).toOpaque()
    var options = TransferOptions(handle: self.handle)
    options.set(CURLOPT_URL, self.transfer.request.url?.absoluteString ?? "")
    options.set(CURLOPT_PROTOCOLS_STR, "http,https")
    // Over HTTP/2 requests share a connection, and a server's frames without content keep libcurl from
    // coming back to the others, and to the deadlines.
    options.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
    options.set(CURLOPT_ERRORBUFFER, UnsafeMutableRawPointer(self.errorText))
    // Signals are the process's; a resolver that hangs is left behind with its thread.
    options.set(CURLOPT_NOSIGNAL, 1)
    options.set(CURLOPT_QUICK_EXIT, 1)
    options.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    // The engine's deadline ends it, rather than libcurl's five minutes.
    options.set(CURLOPT_CONNECTTIMEOUT_MS, Int(Int32.max))
    options.note(ccurl_set_sockets(self.handle, openCallback, closeCallback))
    options.set(CURLOPT_OPENSOCKETDATA, me)
    options.set(CURLOPT_CLOSESOCKETDATA, Unmanaged.passUnretained(self.sockets).toOpaque())
    options.note(ccurl_set_gate(self.handle, gateCallback))
    options.set(CURLOPT_PREREQDATA, me)
    options.note(ccurl_set_writer(self.handle, CURLOPT_HEADERFUNCTION, headerCallback))
    options.set(CURLOPT_HEADERDATA, me)
    options.note(ccurl_set_writer(self.handle, CURLOPT_WRITEFUNCTION, bodyCallback))
    options.set(CURLOPT_WRITEDATA, me)
    options.note(ccurl_set_progress(self.handle, progressCallback))
    options.set(CURLOPT_XFERINFODATA, me)
    let places = Self.certificatePlaces { getenv($0).map { String(cString: $0) } }
    for (option, path) in places { options.set(option, path) }
    self.setMethod(&options, me)
    self.setHeaders(&options)
    return options.areTaken
  }

  /// The certificates that a site trusts, as OpenSSL's own programs and curl look for them.
  ///
  /// - Parameter variable: The value of a variable of the environment; an empty one counts as none.
  static func certificatePlaces(
    _ variable: (String) -> String?
  ) -> [(option: CURLoption, path: String)] {
    [("SSL_CERT_FILE", CURLOPT_CAINFO), ("SSL_CERT_DIR", CURLOPT_CAPATH)].compactMap {
      name, option in
      variable(name).flatMap { $0.isEmpty ? nil : (option, $0) }
    }
  }

  private func setMethod(_ options: inout TransferOptions, _ me: UnsafeMutableRawPointer) {
    let method = self.transfer.method
    if self.transfer.body != nil || ["POST", "PUT", "PATCH"].contains(method) {
      // Without a body, too: such a request says that its length is 0 (RFC 9110, 8.6).
      options.set(CURLOPT_UPLOAD, 1)
      let size = curl_off_t(self.transfer.body?.size ?? 0)
      options.note(ccurl_set_size(self.handle, CURLOPT_INFILESIZE_LARGE, size))
      options.note(ccurl_set_reader(self.handle, readCallback, seekCallback))
      options.set(CURLOPT_READDATA, me)
      options.set(CURLOPT_SEEKDATA, me)
    } else if method == "HEAD" {
      options.set(CURLOPT_NOBODY, 1)
    }
    options.set(CURLOPT_CUSTOMREQUEST, method)
    // Over a connection that was used before, libcurl would send it again by itself if that turns out
    // to be closed, and nobody would know that a write may have been carried out.
    if self.isConnectionNew || !self.transfer.isRead { options.set(CURLOPT_FRESH_CONNECT, 1) }
    if !self.transfer.isRead { options.set(CURLOPT_FORBID_REUSE, 1) }
  }

  private func setHeaders(_ options: inout TransferOptions) {
    for (name, value) in self.transfer.request.allHTTPHeaderFields ?? [:]
    where !Self.ownHeaders.contains(name.lowercased()) {
      // A header with nothing behind the colon would be taken out.
      let isEmpty = value.allSatisfy { $0 == " " || $0 == "\t" }
      self.append(isEmpty ? "\(name);" : "\(name): \(value)")
    }
    if !self.transfer.asksForCoding { self.append("Accept-Encoding: \(ContentDecoder.accepted)") }
    // None waits a second for a server that does not know what is asked.
    self.append("Expect:")
    if !self.transfer.isRead { self.append("Connection: close") }
    if !self.transfer.hasHeader("user-agent") {
      self.append("User-Agent: \(Self.userAgent)")
    }
    options.set(CURLOPT_HTTPHEADER, self.headers.map { UnsafeMutableRawPointer($0) })
  }

  /// What the transport says itself. A request that asks for a `100 Continue` would be sent again by libcurl
  /// if the server refuses that.
  private static let ownHeaders: Set = [
    "connection", "content-length", "expect", "transfer-encoding",
  ]

  private func append(_ header: String) {
    self.headers = curl_slist_append(self.headers, header) ?? self.headers
  }

  /// The name of the program, as a token of HTTP.
  private static let userAgent: String = {
    let name = ProcessInfo.processInfo.processName.map { character -> Character in
      let isPlain = character.isASCII && (character.isLetter || character.isNumber)
      return isPlain || character == "." ? character : "-"
    }
    return name.isEmpty ? "offline-query" : String(name)
  }()
}

/// Sets the options of a transfer, and notes whether libcurl took them.
private struct TransferOptions {
  let handle: UnsafeMutableRawPointer
  var areTaken = true

  mutating func set(_ option: CURLoption, _ number: Int) {
    self.note(ccurl_set_number(self.handle, option, number))
  }

  mutating func set(_ option: CURLoption, _ text: String) {
    self.note(ccurl_set_text(self.handle, option, text))
  }

  mutating func set(_ option: CURLoption, _ address: UnsafeMutableRawPointer?) {
    self.note(ccurl_set_pointer(self.handle, option, address))
  }

  mutating func note(_ code: CURLcode) { if code != CURLE_OK { self.areTaken = false } }
}

// MARK: - What libcurl calls

extension RunningTransfer {
  private static func at(_ address: UnsafeMutableRawPointer?) -> RunningTransfer? {
    address.map { Unmanaged<RunningTransfer>.fromOpaque($0).takeUnretainedValue() }
  }

  fileprivate static func takeHeader(
    _ line: UnsafeRawBufferPointer, _ address: UnsafeMutableRawPointer?
  ) -> Bool {
    guard let me = Self.at(address) else { return false }
    me.lastSign = .now
    me.didHear()
    do {
      // Behind the body come trailers, which nobody reads.
      guard !me.hasHead else {
        try me.parser.skip(line)
        return true
      }
      guard let head = try me.parser.read(line) else { return true }
      me.hasHead = true
      me.chooseDecoder(head)
      me.transfer.current?.head(head)
      return true
    } catch {
      me.transfer.end(.failure(URLError(.cannotParseResponse)))
      return false
    }
  }

  fileprivate static func takeBody(
    _ bytes: UnsafeRawBufferPointer, _ address: UnsafeMutableRawPointer?
  ) -> Bool {
    guard let me = Self.at(address) else { return false }
    me.lastSign = .now
    do {
      guard try me.give(bytes) else {
        // The rest is not needed: the server has already said what became of the request.
        me.transfer.end(.success(()))
        return false
      }
      return true
    } catch {
      me.transfer.end(.failure(URLError(.cannotParseResponse)))
      return false
    }
  }

  private func chooseDecoder(_ head: HTTPAnswer) {
    guard let coding = head.headers["content-encoding"], !coding.isEmpty,
      coding.lowercased() != "identity"
    else { return }
    // A part alone cannot be unpacked.
    if head.status != 206 { self.decoder = ContentDecoder(coding) }
    self.isPackedOtherwise = self.decoder == nil && !self.transfer.asksForCoding
  }

  /// Unpacks some of the body, and hands it to the receiver.
  ///
  /// - Returns: Whether more is wanted.
  private func give(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
    guard !self.isPackedOtherwise else { throw ContentDecoder.Problem() }
    guard let receiver = self.transfer.current else { return false }
    return try self.decoder?.unpack(bytes, receiver.bytes) ?? receiver.bytes(bytes)
  }

  fileprivate static func giveBody(
    _ buffer: UnsafeMutableRawBufferPointer, _ address: UnsafeMutableRawPointer?
  ) -> Int {
    guard let me = Self.at(address) else { return Int(CURL_READFUNC_ABORT) }
    guard let body = me.transfer.body else { return 0 }
    guard let count = body.read(at: me.offset, into: buffer) else {
      return Int(CURL_READFUNC_ABORT)
    }
    me.offset += Int64(count)
    return count
  }

  /// Notes progress, and ends what has taken too long. libcurl calls this also during what keeps it from the
  /// engine, as the skipping of what a proxy sends.
  ///
  /// - Returns: Whether the transfer continues.
  fileprivate static func noteSent(
    _ count: Int64, _ address: UnsafeMutableRawPointer?
  ) -> Bool {
    guard let me = Self.at(address) else { return false }
    if count != me.sent {
      me.lastSign = .now
      me.sent = count
      me.transfer.current?.sent(count)
    }
    if me.deadline <= .now { me.transfer.end(.failure(URLError(.timedOut))) }
    return me.transfer.current != nil
  }

  fileprivate static func open(
    _ target: curl_sockaddr, _ address: UnsafeMutableRawPointer?
  ) -> curl_socket_t {
    guard let me = Self.at(address) else { return CURL_SOCKET_BAD }
    // A child process that is started meanwhile does not inherit it.
    let kind = target.socktype | Int32(SOCK_CLOEXEC.rawValue)
    let socket = Glibc.socket(target.family, kind, target.protocol)
    if socket >= 0 {
      me.isConnectionNew = true
      me.sockets.insert(socket)
    }
    return socket
  }

  /// Refuses a connection that was used before and is of no use: on which something waits already, the end, or
  /// bytes that would be taken for the answer to this request; whose address this machine has lost; or which
  /// is taken after another one has failed, since what has failed is most likely the network.
  fileprivate static func maySend(
    from localPort: Int32, to remotePort: Int32, _ address: UnsafeMutableRawPointer?
  ) -> Bool {
    guard let me = Self.at(address) else { return false }
    let socket = me.sockets.socket(localPort: localPort, remotePort: remotePort)
    me.socket = socket
    guard !me.isConnectionNew, let socket else { return true }
    me.isConnectionStale =
      me.hasUsedOldConnection || OpenSockets.isReadable(socket)
      || OpenSockets.hasLostItsAddress(socket)
    me.hasUsedOldConnection = true
    if !me.isConnectionStale {
      // A connection that the network has forgotten answers nothing; libcurl sends it again over another.
      OpenSockets.limitAcknowledgement(of: socket, to: Self.lookInterval)
      me.isAcknowledgementLimited = true
    }
    return !me.isConnectionStale
  }

  /// Notes that something has come.
  private func didHear() {
    guard self.isAcknowledgementLimited, let socket = self.socket, self.sockets.contains(socket)
    else { return }
    self.isAcknowledgementLimited = false
    OpenSockets.limitAcknowledgement(of: socket, to: .zero)
  }

  fileprivate static func seekBody(
    _ offset: Int64, _ origin: Int32, _ address: UnsafeMutableRawPointer?
  ) -> Int32 {
    guard let me = Self.at(address), origin == SEEK_SET else { return CURL_SEEKFUNC_FAIL }
    me.offset = offset
    return CURL_SEEKFUNC_OK
  }
}

private let headerCallback: curl_write_callback = { line, size, count, address in
  let bytes = UnsafeRawBufferPointer(start: line, count: size * count)
  return RunningTransfer.takeHeader(bytes, address) ? bytes.count : 0
}

private let bodyCallback: curl_write_callback = { bytes, size, count, address in
  let bytes = UnsafeRawBufferPointer(start: bytes, count: size * count)
  return RunningTransfer.takeBody(bytes, address) ? bytes.count : 0
}

private let readCallback: curl_read_callback = { buffer, size, count, address in
  RunningTransfer.giveBody(
    UnsafeMutableRawBufferPointer(start: buffer, count: size * count), address)
}

private let progressCallback: curl_xferinfo_callback = { address, _, _, _, sent in
  RunningTransfer.noteSent(Int64(sent), address) ? 0 : 1
}

private let seekCallback: curl_seek_callback = { address, offset, origin in
  RunningTransfer.seekBody(Int64(offset), origin, address)
}

private let openCallback: curl_opensocket_callback = { address, _, target in
  guard let target else { return CURL_SOCKET_BAD }
  return RunningTransfer.open(target.pointee, address)
}

private let closeCallback: curl_closesocket_callback = { address, socket in
  address.map { Unmanaged<OpenSockets>.fromOpaque($0).takeUnretainedValue() }?.remove(socket)
  return close(socket)
}

private let gateCallback: curl_prereq_callback = { address, _, _, remotePort, localPort in
  let mayBeSent = RunningTransfer.maySend(from: localPort, to: remotePort, address)
  return mayBeSent ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}
