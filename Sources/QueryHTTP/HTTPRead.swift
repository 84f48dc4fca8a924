import Foundation
import FoundationNetworking
import Query

/// A read that asks its server by validators whether anything has changed.
struct HTTPRead: Hashable, Sendable {
  var url: URL
  var headers: [String: String]
  var credential: HTTPCredential.Name?
  var policy: HTTPCachePolicy
  var removesOnGone: Bool
  var expects: HTTPExpectation?

  /// Its identity. A header that may hold a secret is not in it, and the read is not sent.
  var path: QueryPath {
    let headers = self.headers.map { ($0.lowercased(), $1) }
      .filter { HTTPRequestDescription.allowedHeaders.contains($0.0) }
      .map { "\($0): \($1)" }.sorted()
    return ["http", "GET", self.url.normalisedForHTTP, headers, self.credential ?? ""]
  }

  /// Reads the value, or keeps the one at hand.
  ///
  /// - Throws: `HTTPStatusError`; ``HTTPBodyError``; ``HTTPForeignAnswerError``;
  ///   ``HTTPCredentialError``; ``HTTPRequestError``; `URLError`; what a credential throws.
  func fetch<Value: Decodable & Sendable>(
    in context: QueryContext, with continuation: QueryContinuation<Value>
  ) async throws -> Value {
    let stored = context.storedValue
    let known = self.policy == .none ? nil : HTTPValidator(stored?.metadata)
    let (answer, url, isAsked) = try await self.send(by: known, in: context)
    if let known, isAsked, answer.status == 304 {
      do {
        return try self.keep(stored, known, answer, in: context, with: continuation)
      } catch is QueryUnchangedError {
        // What was there is not: all of it is needed, and asked for once.
        let (whole, url, _) = try await self.send(by: nil, in: context)
        return try self.take(whole, from: url, in: context, with: continuation)
      }
    }
    return try self.take(answer, from: url, in: context, with: continuation)
  }
}

// MARK: - Sending

extension HTTPRead {
  /// - Returns: The answer, where it came from, and whether the validator was sent there.
  private func send(
    by validator: HTTPValidator?, in context: QueryContext
  ) async throws -> (HTTPAnswer, URL, isAsked: Bool) {
    // The rules of a request that is kept hold for one whose path is kept.
    let request = try HTTPRequestDescription(method: "GET", url: self.url, headers: self.headers)
    let exchange = HTTPExchange(
      transport: context.httpTransport, credentials: context.httpCredentials,
      credential: self.credential)
    var isAsked = false
    let isAnswer = { @Sendable (status: Int) in status == 304 }
    let (answer, url) = try await exchange.send(
      "GET", request.url, limit: context.httpAnswerLimit, accepts: isAnswer
    ) { request, _ in
      for (name, value) in self.headers { request.setValue(value, forHTTPHeaderField: name) }
      isAsked = validator?.ask(&request) ?? false
      return nil
    }
    return (answer, url, isAsked)
  }
}

// MARK: - Answers

extension HTTPRead {
  private func keep<Value: Sendable>(
    _ stored: StoredValue?, _ known: HTTPValidator, _ answer: HTTPAnswer,
    in context: QueryContext, with continuation: QueryContinuation<Value>
  ) throws -> Value {
    try self.expects?.headersAlone.check(headers: answer.headers, key: nil)
    Self.noteReceipt(answer, in: context)
    let said = HTTPFreshness(answer.headers, now: context.queryClock.now())
    let lifetime = self.lifetime(said.lifetime)
    if said.isUnstorable {
      // It was allowed before, and is no longer.
      guard let value = stored?.value(as: Value.self) else { throw QueryUnchangedError.noValue }
      return continuation.returning(value, metadata: nil, freshFor: lifetime, isStored: false)
    }
    let confirmed = known.confirmed(by: answer, lifetime: lifetime)
    return try continuation.unchanged(
      freshFor: confirmed.lifetime.map { .seconds($0) },
      metadata: confirmed == known ? nil : .some(confirmed.metadata))
  }

  private func take<Value: Decodable & Sendable>(
    _ answer: HTTPAnswer, from url: URL, in context: QueryContext,
    with continuation: QueryContinuation<Value>
  ) throws -> Value {
    // No read asks for a part (206), which would be taken for the whole.
    guard (200...299).contains(answer.status), answer.status != 206 else {
      // Without its body, which would be kept with the error.
      let error = HTTPStatusError(
        statusCode: answer.status,
        retryAfter: answer.headers["retry-after"].flatMap {
          HTTPStatusError.retryAfter(header: $0, now: context.queryClock.now())
        })
      let isGone = answer.status == 404 || answer.status == 410
      throw isGone && self.removesOnGone ? continuation.removing(error) : error
    }
    try self.expects?.check(headers: answer.headers, key: nil)
    if answer.wasTruncated { throw HTTPBodyError.tooLong(limit: context.httpAnswerLimit) }
    let value: Value = try Self.decode(answer.body, in: context)
    Self.noteReceipt(answer, in: context)
    let said = HTTPFreshness(answer.headers, now: context.queryClock.now())
    let lifetime = self.lifetime(said.lifetime)
    let isKept = !said.isUnstorable && self.policy != .none
    let validator =
      isKept ? HTTPValidator(answer, from: url, lifetime: lifetime) : nil
    return continuation.returning(
      value, metadata: validator?.metadata, freshFor: lifetime, isStored: !said.isUnstorable)
  }

  /// Notes the keys of the writes that the server says are in its answer: their edits are not shown over it.
  private static func noteReceipt(_ answer: HTTPAnswer, in context: QueryContext) {
    guard let receipt = context.fetchReceipt, let applied = answer.headers["idempotency-applied"]
    else { return }
    let keys = applied.split(separator: ",")
      .map { String($0.drop { $0 == " " }.prefix { $0 != " " }) }.filter { !$0.isEmpty }
    if !keys.isEmpty { receipt.includes(keys: keys) }
  }

  private func lifetime(_ said: Duration?) -> Duration? {
    self.policy == .serverFreshness ? said : nil
  }

  /// Makes a value of a body: data is taken as it is.
  private static func decode<Value: Decodable>(
    _ body: Data, in context: QueryContext
  ) throws -> Value {
    if let data = body as? Value { return data }
    do {
      return try context.httpCoder.decode(Value.self, from: body)
    } catch {
      throw HTTPBodyError.undecodable(type: "\(Value.self)", underlying: error)
    }
  }
}

extension HTTPExpectation {
  /// Without the content type, which an answer without a body does not have.
  var headersAlone: HTTPExpectation { HTTPExpectation(headers: self.headers) }
}
