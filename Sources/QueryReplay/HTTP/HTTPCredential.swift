public import Foundation

/// A secret, as the headers that a request is sent with, and where it may be sent to.
public struct HTTPCredential: Sendable {
  let origins: Set<HTTPOrigin>
  let headers: @Sendable () async throws -> [String: String]

  /// Creates a credential.
  ///
  /// - Parameters:
  ///   - origins: URLs of the places that it may be sent to: scheme, host and port count.
  ///   - headers: Makes the headers, at each attempt.
  public init(
    for origins: [URL],
    headers: @escaping @Sendable () async throws -> [String: String]
  ) {
    self.origins = Set(origins.compactMap { HTTPOrigin($0) })
    self.headers = headers
  }
}

/// A request cannot be sent for want of a credential: its lane waits for other ones.
public enum HTTPCredentialError: Error, Hashable, Sendable, CustomStringConvertible {
  /// There is none of this name.
  case unknown(name: String)
  /// It must not be sent to this place.
  case notFor(name: String, origin: HTTPOrigin)

  /// What is missing.
  public var description: String {
    switch self {
    case .unknown(let name): "There is no credential named \"\(name)\"."
    case .notFor(let name, let origin):
      "The credential \"\(name)\" must not be sent to \(origin)."
    }
  }
}
