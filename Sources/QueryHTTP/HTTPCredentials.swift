import Foundation

/// The secrets of an application, by the names that requests refer to them with.
///
/// ```swift
/// let credentials = HTTPCredentials([
///   "api": HTTPCredential(for: [URL(string: "https://api.example.org")!]) {
///     ["Authorization": "Bearer \(try await keychain.token())"]
///   }
/// ])
/// ```
/// They are looked up when a request is sent, and never written to a file.
public struct HTTPCredentials: Sendable {
  private var credentials: [String: HTTPCredential]

  /// Creates a collection.
  ///
  /// - Parameter credentials: The credentials by their names.
  public init(_ credentials: [String: HTTPCredential] = [:]) { self.credentials = credentials }

  /// The credential of a name; nil if there is none.
  public subscript(name: String) -> HTTPCredential? {
    get { self.credentials[name] }
    set { self.credentials[name] = newValue }
  }

  /// Whether all of them are copies of the others.
  func areSame(as others: HTTPCredentials) -> Bool {
    self.credentials.count == others.credentials.count
      && self.credentials.allSatisfy { $1.identity === others.credentials[$0]?.identity }
  }

  /// The headers for a request.
  ///
  /// - Parameters:
  ///   - name: The name that the request refers to; nil if it needs no credential.
  ///   - origin: The origin that the request goes to.
  /// - Throws: ``HTTPCredentialError``; what the credential throws.
  func headers(for name: String?, to origin: HTTPOrigin) async throws -> [String: String] {
    guard let name else { return [:] }
    guard let credential = self.credentials[name] else {
      throw HTTPCredentialError.unknown(name: name)
    }
    guard credential.origins.contains(origin) else {
      throw HTTPCredentialError.notFor(name: name, origin: origin)
    }
    var headers = try await credential.headers()
    for (header, value) in headers {
      // What surrounds a value is no part of it (RFC 9110, 5.5), as the line break of a file.
      let value = value.trimmingCharacters(in: .whitespacesAndNewlines)
      guard HTTPRequestDescription.isHeaderValue(value), HTTPRequestDescription.isToken(header)
      else { throw HTTPCredentialError.badHeader(name: name, header: header) }
      headers[header] = value
    }
    return headers
  }
}
