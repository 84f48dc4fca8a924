import Query

/// Why a request cannot be made durable, or can no longer be sent.
public enum HTTPRequestError: Error, Hashable, Sendable {
  /// The method is not a valid one.
  case badMethod(String)
  /// The URL is not an HTTP or HTTPS URL with a host.
  case badURL(String)
  /// The URL holds a name and a password, which would be written to the file.
  case secretInURL
  /// The header may not be written to the file: see ``HTTPRequestDescription/allowedHeaders``.
  case headerNotAllowed(String)
  /// The value of the header has a line break or another control character.
  case badHeaderValue(String)
}

extension HTTPRequestError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .badMethod(let method): "\"\(method)\" is no HTTP method. Give one, such as POST."
    case .badURL(let url): "\(url) is no URL of HTTP or HTTPS with a host. Give a whole one."
    case .secretInURL:
      """
      A name or password in a URL would be written to the file. Secrets come from HTTPCredentials when the \
      request is sent.
      """
    case .headerNotAllowed(let name):
      """
      The header \(name) is not written to the file. Secrets come from HTTPCredentials when the \
      request is sent.
      """
    case .badHeaderValue(let name):
      "The value of the header \(name) has control characters. Give it without."
    }
  }
}

// Both are thrown before anything is sent.
extension HTTPRequestError: UnsentError {}
extension HTTPCredentialError: MissingCredentialError {}
