public import Foundation

/// The part of a URL that decides whether a credential may be sent: scheme, host and port.
public struct HTTPOrigin: Hashable, Sendable {
  /// `http` or `https`.
  public let scheme: String
  /// The host, in lower case.
  public let host: String
  /// The port; the scheme's default if the URL names none.
  public let port: Int

  /// The origin of a URL; nil if it is not an HTTP URL, or has no host.
  ///
  /// - Parameter url: The URL; path and query do not matter.
  public init?(_ url: URL) {
    let url = url.absoluteURL
    guard let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "https",
      let host = url.host(), !host.isEmpty
    else { return nil }
    self.scheme = scheme
    self.host = host.lowercased()
    self.port = url.port ?? (scheme == "https" ? 443 : 80)
  }
}

extension HTTPOrigin {
  /// Whether an answer of another origin is still the server's: only its upgrade from http to https
  /// may differ, where TLS says who answers.
  func mayBecome(_ other: HTTPOrigin) -> Bool {
    self == other
      || self.host == other.host && self.scheme == "http" && self.port == 80
        && other.scheme == "https" && other.port == 443
  }
}

extension HTTPOrigin: CustomStringConvertible {
  /// As in a URL.
  public var description: String { "\(self.scheme)://\(self.authority)" }

  /// The host, with the port unless that is the scheme's default.
  var authority: String {
    let isUsual = self.port == (self.scheme == "https" ? 443 : 80)
    return isUsual ? self.host : "\(self.host):\(self.port)"
  }
}
