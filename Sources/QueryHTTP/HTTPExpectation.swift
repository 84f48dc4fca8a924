import Foundation
public import FoundationNetworking
import Query

/// What tells the server's own answer from that of a portal or a proxy, which answers anything with a
/// page of its own and often with status 200: a write would count as sent.
///
/// ```swift
/// let request = try HTTPRequestDescription(
///   url: notes, body: .data(json), expects: HTTPExpectation(echoesKey: true))
/// ```
/// Only an answer that would count as success is checked. One that is not as expected throws
/// ``HTTPForeignAnswerError``: the write waits for the network, and is sent again. Mutations with
/// code of their own check theirs with ``check(_:to:)``.
public struct HTTPExpectation: Codable, Hashable, Sendable {
  /// The content type begins with one of these, as `application/json`; empty: any will do.
  public let contentTypes: [String]
  /// The names of headers that the answer has.
  public let headers: [String]
  /// Whether the answer repeats the request's `Idempotency-Key`, which is the surest sign.
  public let echoesKey: Bool

  /// Creates an expectation. See the properties for what each is.
  public init(contentTypes: [String] = [], headers: [String] = [], echoesKey: Bool = false) {
    self.contentTypes = contentTypes
    self.headers = headers
    self.echoesKey = echoesKey
  }

  /// Checks an answer that would count as success, also whether it came from another origin than the
  /// one that was asked: `URLSession` follows a redirect of a `POST` to the page of a portal.
  ///
  /// - Parameters:
  ///   - response: The answer.
  ///   - request: The request, with its `Idempotency-Key`.
  /// - Throws: ``HTTPForeignAnswerError``.
  public func check(_ response: URLResponse, to request: URLRequest) throws(HTTPForeignAnswerError)
  {
    guard let response = response as? HTTPURLResponse else { throw .notHTTP }
    if let asked = request.url.flatMap({ HTTPOrigin($0) }),
      let answered = response.url.flatMap({ HTTPOrigin($0) }), !asked.mayBecome(answered)
    {
      throw .otherOrigin("\(answered)")
    }
    try self.check(
      headers: response.headersInLowerCase,
      key: request.value(forHTTPHeaderField: "Idempotency-Key"))
  }

  /// - Parameters:
  ///   - headers: The answer's, their names in lower case.
  ///   - key: The `Idempotency-Key` that was sent; nil: none, so that it cannot be expected.
  func check(headers: [String: String], key: String?) throws(HTTPForeignAnswerError) {
    if !self.contentTypes.isEmpty {
      let type = headers["content-type"]
      let isExpected = self.contentTypes.contains {
        type?.lowercased().hasPrefix($0.lowercased()) == true
      }
      guard isExpected else { throw .contentType(type) }
    }
    for name in self.headers where headers[name.lowercased()] == nil {
      throw .missingHeader(name)
    }
    guard self.echoesKey, let key else { return }
    guard headers["idempotency-key"] == key else { throw .missingKey }
  }
}

/// An answer that is not the server's, but that of a portal or a proxy. The write waits for the
/// network, and is sent again with its key, since it may have been carried out.
public enum HTTPForeignAnswerError: Error, Hashable, Sendable {
  /// It is not an answer of HTTP.
  case notHTTP
  /// It has another content type, or none.
  case contentType(String?)
  /// It has no header of this name.
  case missingHeader(String)
  /// It does not repeat the `Idempotency-Key` that was sent.
  case missingKey
  /// A write was redirected to this origin, or its answer came from there.
  case otherOrigin(String)
}

extension HTTPForeignAnswerError: CustomStringConvertible {
  /// What tells that it is not the server's, and what to do about it.
  public var description: String {
    "\(self.difference) Look for a portal or a proxy between here and the server."
  }

  private var difference: String {
    switch self {
    case .notHTTP: "The answer is not one of HTTP."
    case .contentType(let type):
      "The answer is not the server's: its content type is \(type ?? "not given")."
    case .missingHeader(let name): "The answer is not the server's: it has no header \(name)."
    case .missingKey: "The answer is not the server's: it does not repeat the Idempotency-Key."
    case .otherOrigin(let origin): "The request was sent on to \(origin)."
    }
  }
}

extension HTTPForeignAnswerError: UnansweredError {}

extension HTTPURLResponse {
  /// The headers, their names in lower case.
  var headersInLowerCase: [String: String] {
    var headers = [String: String]()
    for (name, value) in self.allHeaderFields {
      guard let name = name as? String, let value = value as? String else { continue }
      headers[name.lowercased()] = value
    }
    return headers
  }
}
