public import Foundation

/// A secret: the headers that a request is sent with, and the origins it may be sent to.
public struct HTTPCredential: Sendable {
  /// What requests refer to a credential by.
  public typealias Name = String

  let origins: Set<HTTPOrigin>
  let headers: @Sendable () async throws -> [String: String]
  /// Tells it from others without asking for its headers. Copies have the same one.
  let identity = Identity()

  final class Identity: Sendable {}

  /// Creates a credential.
  ///
  /// - Parameters:
  ///   - origins: URLs of the origins that it may be sent to: only scheme, host and port count.
  ///   - headers: Makes the headers, at each attempt.
  public init(
    for origins: [URL],
    headers: @escaping @Sendable () async throws -> [String: String]
  ) {
    self.origins = Set(origins.compactMap { HTTPOrigin($0) })
    self.headers = headers
  }
}

/// A request cannot be sent without a credential: its lane waits until credentials change.
public enum HTTPCredentialError: Error, Hashable, Sendable, CustomStringConvertible {
  /// There is no credential of this name.
  case unknown(name: String)
  /// The credential must not be sent to this origin.
  case notFor(name: String, origin: HTTPOrigin)
  /// The credential gives a header that has a line break or another control character in it.
  case badHeader(name: String, header: String)

  /// Which credential it is, and what to do about it.
  public var description: String {
    switch self {
    case .unknown(let name):
      "There is no credential named \"\(name)\". Give one to HTTPCredentials."
    case .notFor(let name, let origin):
      """
      The credential "\(name)" must not be sent to \(origin). Create it with that origin, if the server \
      there is its own.
      """
    case .badHeader(let name, let header):
      "The credential \"\(name)\" gives a header \(header) with control characters. Give it without."
    }
  }
}
