public import Foundation
public import Query

/// A read of a URL. If nothing has changed on the server, it costs no more than the headers.
///
/// ```swift
/// let notes = HTTPQuery(URL(string: "https://notes.example/notes")!, as: [Note].self)
/// let store = client.store(for: notes.persisted())
/// ```
/// The validator of the answer, its `ETag` or `Last-Modified`, is stored and removed together with the
/// value, in one commit. The next fetch, in a later launch as well, sends it; if the server answers 304,
/// the value and its bytes on disk stay as they are. A value of type `Data` is the body; any other is
/// decoded by the context's `httpCoder`, JSON by default.
///
/// An answer with `Cache-Control: no-store` is shown, and the stored value of the query is removed.
/// Redirects are followed, but the credential is not sent to another origin. A status other than 200 to
/// 299 throws an `HTTPStatusError`, and the value stays, whatever `stale-if-error` says.
///
/// It can be a member of a pack (`client.keep`). A later launch goes on with the pack if the type is
/// registered: `client.packs.register(HTTPQuery<[Note]>.self)`. The pack knows it by the name of its
/// value's type.
///
/// The path is `["http", "GET", url, headers, credential]`: the URL in its normal form, the sorted headers,
/// and the name of the credential. It contains no secret, but it contains the URL's query: put no token
/// there.
public struct HTTPQuery<Value: Codable & Sendable>: QueryRequest, Hashable {
  let read: HTTPRead

  /// Creates a query.
  ///
  /// - Parameters:
  ///   - url: A URL of HTTP or HTTPS, without a name and password.
  ///   - headers: Headers, of ``HTTPRequestDescription/allowedHeaders`` alone. They are part of the
  ///     identity, so that an answer that varies by one of them has a value of its own.
  ///   - credential: The name of the credential to send, in the context's `httpCredentials`; nil: it needs
  ///     none.
  ///   - type: What the answer is.
  ///   - policy: How it treats the server's caching headers.
  ///   - removesOnGone: Whether status 404 or 410 resets the store, which removes the value.
  ///   - expects: How to tell the server's answer from that of a captive portal; nil: any answer that can
  ///     be decoded counts.
  public init(
    _ url: URL,
    headers: [String: String] = [:],
    credential: HTTPCredential.Name? = nil,
    as type: Value.Type = Value.self,
    policy: HTTPCachePolicy = .validators,
    removesOnGone: Bool = false,
    expects: HTTPExpectation? = nil
  ) {
    self.read = HTTPRead(
      url: url.absoluteURL, headers: headers, credential: credential, policy: policy,
      removesOnGone: removesOnGone, expects: expects)
  }

  public var path: QueryPath { self.read.path }

  /// Asks the server once.
  ///
  /// - Throws: `HTTPStatusError`; ``HTTPBodyError``; ``HTTPForeignAnswerError``;
  ///   ``HTTPCredentialError``; ``HTTPRequestError``; `URLError`; what a credential throws.
  public func fetch(
    in context: QueryContext, with continuation: QueryContinuation<Value>
  ) async throws -> Value {
    try await self.read.fetch(in: context, with: continuation)
  }
}

extension HTTPQuery: PackableRequest {
  public static var packName: String { PackName.of("HTTPQuery", Value.self) }

  /// Reads a query that ``encode(to:)`` wrote.
  ///
  /// - Throws: ``HTTPRequestError``; `DecodingError`.
  public init(from decoder: any Decoder) throws { self.read = try HTTPRead(from: decoder) }

  /// Writes the URL, the headers and the name of the credential: no secret.
  ///
  /// - Throws: ``HTTPRequestError`` if the URL or a header may hold a secret; `EncodingError`.
  public func encode(to encoder: any Encoder) throws { try self.read.encode(to: encoder) }
}
