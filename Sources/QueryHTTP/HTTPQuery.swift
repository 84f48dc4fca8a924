public import Foundation
public import Query

/// A read of a URL that costs some headers if nothing has changed.
///
/// ```swift
/// let notes = HTTPQuery(URL(string: "https://notes.example/notes")!, as: [Note].self)
/// let store = client.store(for: notes.persisted())
/// ```
/// What the server calls the answer, its `ETag` or `Last-Modified`, is kept with the value, in one
/// commit, and gone with it. The next fetch, in the next launch as well, asks whether it still holds;
/// the answer that it does (304) leaves the value and its bytes on disk as they are. A value that is
/// `Data` is the body; others are decoded by `httpCoder` of the context, JSON by default.
///
/// An answer with `Cache-Control: no-store` is shown, and what is stored of the query is removed.
/// Redirects are followed, without the credential to another origin. A status other than 200 to 299 is an
/// `HTTPStatusError` beside the kept value, whatever `stale-if-error` says: a value stays for as long as
/// there is no other one.
///
/// It is a member of a pack as it is (`client.keep`), and a later launch goes on with it if its type is
/// registered: `client.packs.register(HTTPQuery<[Note]>.self)`. It is known there by the name of the type
/// of its value.
///
/// The path is `["http", "GET", url, headers, credential]`: the URL in its normal form, the headers
/// sorted, the credential by its name; no secret is in it. The URL's query is, so put no token there.
public struct HTTPQuery<Value: Codable & Sendable>: QueryRequest, Hashable {
  let read: HTTPRead

  /// Creates a query.
  ///
  /// - Parameters:
  ///   - url: A URL of HTTP or HTTPS, without a name and password.
  ///   - headers: Headers, of ``HTTPRequestDescription/allowedHeaders`` alone. They are part of the
  ///     identity, so that an answer that varies by one of them has a value of its own.
  ///   - credential: The name of the credential in `httpCredentials` of the context that it is sent
  ///     with; nil: it needs none.
  ///   - type: What the answer is.
  ///   - policy: What it makes of what the server says about keeping the answer.
  ///   - removesOnGone: Whether status 404 or 410 resets the store, which removes the value.
  ///   - expects: What tells the server's answer from that of a portal; nil: any counts that can be
  ///     decoded.
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

  /// Writes what it is made of: no secret.
  ///
  /// - Throws: ``HTTPRequestError`` if the URL or a header may hold a secret; `EncodingError`.
  public func encode(to encoder: any Encoder) throws { try self.read.encode(to: encoder) }
}
