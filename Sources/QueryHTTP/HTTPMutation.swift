import Foundation
import FoundationNetworking
public import Query

/// A durable mutation that needs no code: a request of HTTP, which any replayer can send.
///
/// ```swift
/// let http = HTTPMutation(credentials: credentials).durable(.init(scope: .named("notes")))
/// try await client.store(for: http).enqueue(with: HTTPRequestDescription(url: notes, body: .data(json)))
/// try replayer.register(http)
/// ```
/// Its name on disk is `http/1`, so that a tool can send what an application has left. Each request has
/// the row's key as its `Idempotency-Key`. A status that the request does not accept is an
/// `HTTPStatusError`. A redirect with status 307 or 308 is followed with method, body and key, one
/// with 303 is read. A write that is redirected to another origin is not sent there, and waits for
/// the network: that is how a portal answers. Others answer with a page of their own and status 200;
/// ``HTTPRequestDescription/expects`` tells that from the server's answer.
///
/// Each has a connection of its own (`Connection: close`), and goes the ways of ``HTTPTransport``.
public struct HTTPMutation: MutationRequest {
  public typealias Arguments = HTTPRequestDescription
  public typealias ReturnValue = HTTPResponseDescription

  /// The name on disk.
  public static let name = "http/1"

  /// Tells apart the HTTP mutations of one program; nil: the one without a name.
  private let label: String?
  private let credentials: HTTPCredentials?
  private let transport: HTTPTransport

  /// Creates a mutation.
  ///
  /// - Parameters:
  ///   - name: Tells apart the HTTP mutations of one program that differ in their lanes, limits or
  ///     credentials; nil: there is only one.
  ///   - credentials: What requests refer to by name; nil: those of the context.
  ///   - timeout: How long a server may be silent; 60 s by default.
  ///   - timeLimit: How long a request may take altogether, with its upload and its answer; an hour
  ///     by default. Without it a server that sends a byte now and then would hold up a lane.
  public init(
    name: String? = nil,
    credentials: HTTPCredentials? = nil,
    timeout: Duration = .seconds(60),
    timeLimit: Duration = .seconds(3_600)
  ) {
    self.label = name
    self.credentials = credentials
    self.transport = HTTPTransport(timeout: timeout, timeLimit: timeLimit)
  }

  /// The name of an HTTP mutation; nil if it has none.
  ///
  /// - Parameter instance: The instance of its rows, which is its path's canonical text.
  package static func label(ofInstance instance: String) -> String? {
    let path = try? JSONDecoder().decode([String].self, from: Data(instance.utf8))
    guard let path, path.count == 2, path[0] == "http" else { return nil }
    return path[1]
  }

  public var path: QueryPath { self.label.map { ["http", $0] } ?? ["http"] }

  /// Sends the request once.
  ///
  /// - Throws: `HTTPStatusError`; ``HTTPForeignAnswerError``; ``HTTPCredentialError``;
  ///   ``HTTPRequestError``; `MutationBodyError`; `URLError`; what a credential throws.
  public func mutate(
    with arguments: HTTPRequestDescription,
    in context: QueryContext,
    with continuation: QueryContinuation<HTTPResponseDescription>
  ) async throws -> HTTPResponseDescription {
    let file = try await Self.file(of: arguments.body, context)
    let key = context.mutationAttempt?.idempotencyKey
    let exchange = HTTPExchange(
      transport: self.transport, credentials: self.credentials ?? context.httpCredentials,
      credential: arguments.credential)
    let progress = Self.progress(of: file, context.mutationAttempt)
    let answer = try await self.send(arguments, file, key, by: exchange, progress: progress)
    guard arguments.accepts(answer.status) else {
      throw HTTPStatusError(answer, now: context.queryClock.now())
    }
    try arguments.expects?.check(headers: answer.headers, key: key)
    return HTTPResponseDescription(
      status: answer.status,
      headers: answer.headers.filter { HTTPResponseDescription.keptHeaders.contains($0.key) },
      body: answer.body.prefix(arguments.responseLimit),
      wasTruncated: answer.wasTruncated || answer.body.count > arguments.responseLimit)
  }
}

// MARK: - Declaring

extension HTTPMutation {
  /// Makes it durable, under its name.
  ///
  /// - Parameter options: How it is stored and sent. Leave `version` and `coder` as they are, or
  ///   other programs cannot send it. Without `host`, a request counts toward the host and port of
  ///   its URL.
  public func durable(
    _ options: MutationPersistenceOptions<HTTPRequestDescription> = MutationPersistenceOptions()
  ) -> ModifiedQuery<Self, some QueryModifier<Self>> {
    var options = options
    let host = options.host
    options.host = { host?($0) ?? HTTPOrigin($0.url)?.authority }
    options.bodies = { if case .file(let file) = $0.body { [file] } else { [] } }
    return self.persisted(reservedAs: Self.name, options)
  }
}

// MARK: - Sending

extension HTTPMutation {
  /// The file to send. What a row says is not trusted: a durable request sends its copy alone.
  private static func file(
    of body: HTTPRequestBody, _ context: QueryContext
  ) async throws -> URL? {
    guard case .file(let file) = body else { return nil }
    guard let attempt = context.mutationAttempt else { return file }
    return try await attempt.body()
  }

  /// Tells how much of a file has been sent, from nothing on.
  private static func progress(
    of file: URL?, _ attempt: MutationAttempt?
  ) -> @Sendable (Int64) -> Void {
    guard let file, let attempt else { return { _ in } }
    let size = try? FileManager.default.attributesOfItem(atPath: file.path)[.size]
    let total = (size as? NSNumber)?.int64Value
    return { sent in
      attempt.report(MutationProgress(sent: total.map { min(sent, $0) } ?? sent, total: total))
    }
  }

  private func send(
    _ description: HTTPRequestDescription, _ file: URL?, _ key: String?, by exchange: HTTPExchange,
    progress: @escaping @Sendable (Int64) -> Void
  ) async throws -> HTTPAnswer {
    let limit = max(description.responseLimit, HTTPStatusError.bodyLimit)
    let (answer, _) = try await exchange.send(
      description.method, description.url, limit: limit, accepts: description.accepts,
      progress: progress
    ) { request, keepsBody in
      guard keepsBody else { return nil }
      // Set after the credential's headers, so that none of them replaces the key.
      Self.fill(&request, with: description, key)
      if file != nil { progress(0) }
      return file
    }
    return answer
  }

  private static func fill(
    _ request: inout URLRequest, with description: HTTPRequestDescription, _ key: String?
  ) {
    for (name, value) in description.headers {
      request.setValue(value, forHTTPHeaderField: name)
    }
    if let key { request.setValue(key, forHTTPHeaderField: "Idempotency-Key") }
    if case .data(let data) = description.body { request.httpBody = data }
  }
}
