public import Foundation

/// Where a request goes to, as far as secrets go by it: scheme, host and port.
public struct HTTPOrigin: Hashable, Sendable {
  /// `http` or `https`.
  public let scheme: String
  /// The host, in lower case.
  public let host: String
  /// The port, the scheme's own where the URL names none.
  public let port: Int

  /// The origin of a URL; nil where it is not one of HTTP, or names no host.
  ///
  /// - Parameter url: The URL, of which the rest does not matter.
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

extension HTTPOrigin: CustomStringConvertible {
  /// As in a URL.
  public var description: String { "\(self.scheme)://\(self.authority)" }

  /// The host, with the port where that is not the scheme's own.
  var authority: String {
    let isUsual = self.port == (self.scheme == "https" ? 443 : 80)
    return isUsual ? self.host : "\(self.host):\(self.port)"
  }
}
