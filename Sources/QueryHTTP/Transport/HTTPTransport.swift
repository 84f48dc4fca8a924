public import Foundation
public import FoundationNetworking
import Query

/// What requests are sent through, by libcurl and HTTP/1.1: without cookies, cache or credentials of its own.
/// The variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` of the environment are obeyed, and
/// `SSL_CERT_FILE` and `SSL_CERT_DIR`, if a site has certificates of its own.
///
/// ```swift
/// let (data, response) = try await HTTPTransport.shared.answer(to: request)
/// ```
/// In the place of `URLSession`, which on Linux, up to Swift 6.3, ends the process if a server closes the
/// connection in the middle of its answer's header, and deadlocks if a task is cancelled while the answer
/// arrives (swift-corelibs-foundation, issue 5412).
///
/// A request other than a read has a connection of its own: over one that was used before it could be sent
/// twice, or wait for an answer that cannot come. Of one origin eight reads are under way at once, and eight
/// others; more wait for those. Answers come packed by gzip or deflate if the server can, unless the request
/// has an `Accept-Encoding` or a `Range` of its own. One that breaks off is no answer; one that says neither
/// its length nor that it comes in chunks ends where the connection ends.
public final class HTTPTransport: Sendable {
  /// The one that requests share that ask for no other limits.
  public static let shared = HTTPTransport()

  private let patience: Transfer.Patience
  /// How many requests of a kind are under way to an origin.
  private let width: Int

  /// Creates a transport.
  ///
  /// - Parameters:
  ///   - timeout: How long a server may be silent; 60 s by default.
  ///   - timeLimit: How long a request may take altogether, with its upload and its answer; an hour by
  ///     default.
  public convenience init(
    timeout: Duration = .seconds(60), timeLimit: Duration = .seconds(3_600)
  ) {
    self.init(timeout: timeout, timeLimit: timeLimit, width: 8)
  }

  /// - Parameter width: How many requests of a kind are under way to an origin at once.
  package init(timeout: Duration, timeLimit: Duration, width: Int) {
    self.patience = Transfer.Patience(silence: timeout, total: timeLimit)
    self.width = width
  }

  /// Sends a request, and returns the answer.
  ///
  /// Redirects are followed as by ``HTTPMutation`` and ``HTTPQuery``: a write is never sent to another
  /// origin, and neither is a header that may hold a secret. An upgrade of a write from http to https keeps
  /// its body and its `Idempotency-Key`. One that is not followed counts by its status.
  ///
  /// - Parameters:
  ///   - request: The request. Its method, headers, `httpBody` and `timeoutInterval` count, which is how
  ///     long the server may be silent, if it is not the 60 s that Foundation gives it.
  ///   - acceptedStatuses: The statuses that are no error; 200 to 299 by default. A part of what is read
  ///     (206) is one in any case, unless the request has a `Range`.
  ///   - limit: How many bytes the answer may have, unpacked; 64 MiB by default.
  /// - Returns: The body, and the rest of the answer.
  /// - Throws: `HTTPStatusError` for another status, with what the server said of a wait; `URLError`,
  ///   `.cancelled` if the task is cancelled; ``HTTPBodyError`` if the answer is longer;
  ///   ``HTTPRequestError``; ``HTTPForeignAnswerError`` if a write is redirected elsewhere.
  public func answer(
    to request: URLRequest, acceptedStatuses: [ClosedRange<Int>] = [200...299],
    limit: Int = 64 << 20
  ) async throws -> (Data, HTTPURLResponse) {
    guard let url = request.url else { throw HTTPRequestError.badURL("") }
    let exchange = HTTPExchange(transport: self, credentials: HTTPCredentials(), credential: nil)
    let accepts = { @Sendable (status: Int) in acceptedStatuses.contains { $0.contains(status) } }
    let (answer, source) = try await exchange.send(
      request.httpMethod ?? "GET", url, limit: limit, accepts: accepts
    ) { next, isWhole in
      Self.fill(&next, from: request, isWhole: isWhole)
      return nil
    }
    // A part that was not asked for would be taken for the whole.
    let isUnaskedPart =
      answer.status == 206 && Self.isRead(request)
      && request.value(forHTTPHeaderField: "Range") == nil
    guard accepts(answer.status), !isUnaskedPart else {
      throw HTTPStatusError(answer, now: Date())
    }
    guard !answer.wasTruncated else { throw HTTPBodyError.tooLong(limit: limit) }
    guard
      let response = HTTPURLResponse(
        url: source, statusCode: answer.status, httpVersion: nil, headerFields: answer.headers)
    else { throw URLError(.cannotParseResponse) }
    return (answer.body, response)
  }

  /// Fills one of the requests that another one is sent as, from its first to what it is redirected to.
  ///
  /// - Parameters:
  ///   - next: The request to fill.
  ///   - request: What it is filled from.
  ///   - isWhole: Whether it is the request itself rather than a read that the server points to.
  static func fill(_ next: inout URLRequest, from request: URLRequest, isWhole: Bool) {
    let origins = [request.url, next.url].map { $0.flatMap { HTTPOrigin($0) } }
    guard let first = origins[0], let origin = origins[1] else { return }
    let isHome = first == origin
    // The server would answer a write without its body with success, and do nothing.
    let isItself = isWhole && (isHome || !Self.isRead(request) && first.mayBecome(origin))
    for (name, value) in request.allHTTPHeaderFields ?? [:] {
      // What is not known to be harmless stays with the origin that it was meant for.
      let isKept =
        switch name.lowercased() {
        case "idempotency-key": isItself
        case let name: isHome || HTTPRequestDescription.allowedHeaders.contains(name)
        }
      if isKept { next.setValue(value, forHTTPHeaderField: name) }
    }
    next.timeoutInterval = request.timeoutInterval
    if isItself { next.httpBody = request.httpBody }
  }

  private static func isRead(_ request: URLRequest) -> Bool {
    ["GET", "HEAD"].contains(request.httpMethod ?? "GET")
  }

  /// As ``answer(to:acceptedStatuses:limit:)``, for a URL that is read.
  public func answer(
    from url: URL, acceptedStatuses: [ClosedRange<Int>] = [200...299], limit: Int = 64 << 20
  ) async throws -> (Data, HTTPURLResponse) {
    try await self.answer(
      to: URLRequest(url: url), acceptedStatuses: acceptedStatuses, limit: limit)
  }
}

extension HTTPStatusError {
  /// How many bytes of an answer that is not accepted are kept.
  static let bodyLimit = 4 << 10

  /// - Parameter now: The time from which a date counts that the server asks to wait for.
  init(_ answer: HTTPAnswer, now: Date) {
    self.init(
      statusCode: answer.status,
      retryAfter: answer.headers["retry-after"].flatMap { Self.retryAfter(header: $0, now: now) },
      body: answer.body.isEmpty ? nil : answer.body.prefix(Self.bodyLimit))
  }
}

// MARK: - Sending

extension HTTPTransport {
  /// The `timeoutInterval` of a request that asks for none, in seconds.
  private static let foundationsTimeout: TimeInterval = 60
  /// The longest that counts, in seconds: some thirty years.
  private static let longestTimeout: TimeInterval = 1e9

  /// Sends a request. A redirect is returned instead of followed.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - file: The file to send as its body; nil: the request's own body.
  ///   - limit: How many bytes of the answer are taken; the connection ends behind them.
  ///   - began: From when on the time limit counts.
  ///   - progress: Called with how many bytes of the body have been sent.
  /// - Throws: `URLError`, `.cancelled` if the task is cancelled; ``HTTPRequestError``.
  package func send(
    _ request: URLRequest, file: URL? = nil, limit: Int, began: ContinuousClock.Instant = .now,
    progress: @escaping @Sendable (Int64) -> Void = { _ in }
  ) async throws -> HTTPAnswer {
    let body = try TransferBody(request.httpBody, file: file)
    let answer = CollectedAnswer(limit: limit)
    let receiver = Transfer.Receiver(
      sent: progress, head: { answer.begin($0) }, bytes: { answer.add($0) },
      end: { answer.end($0) })
    var patience = self.patience
    if request.timeoutInterval != Self.foundationsTimeout {
      // A number that is none, or larger than a time can be, asks for no limit of its own.
      let isTime = request.timeoutInterval > 0 && request.timeoutInterval < Self.longestTimeout
      if isTime { patience.silence = .seconds(request.timeoutInterval) }
    }
    let transfer = try Transfer(
      request, body, patience, width: self.width, began: began, receiver)
    return try await withTaskCancellationHandler {
      TransferEngine.shared.start(transfer)
      return try await answer.whole()
    } onCancel: {
      TransferEngine.shared.cancel(transfer)
    }
  }
}

/// Collects an answer, and hands it to the caller.
private final class CollectedAnswer: Sendable {
  private let limit: Int
  private let answer = Locked<HTTPAnswer?>(nil)
  private let result = FirstResult<Result<HTTPAnswer, any Error>>()

  init(limit: Int) { self.limit = limit }

  func begin(_ head: HTTPAnswer) { self.answer.withLock { $0 = head } }

  /// - Returns: Whether there is room for more.
  func add(_ bytes: UnsafeRawBufferPointer) -> Bool {
    self.answer.withLock { answer in
      guard let count = answer?.body.count else { return false }
      let room = max(0, self.limit - count)
      answer?.body.append(contentsOf: bytes.prefix(room))
      if bytes.count > room { answer?.wasTruncated = true }
      return bytes.count <= room
    }
  }

  func end(_ result: Result<Void, URLError>) {
    switch result {
    case .failure(let error): self.result.set(.failure(error))
    case .success:
      let answer = self.answer.withLock { $0 }
      self.result.set(answer.map { .success($0) } ?? .failure(URLError(.badServerResponse)))
    }
  }

  /// Waits for the end. Called once.
  func whole() async throws -> HTTPAnswer { try await self.result.value().get() }
}
