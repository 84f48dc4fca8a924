import Foundation

extension URL {
  /// The URL in the form that is the same for all spellings of it (RFC 3986, 6.2): scheme and host in
  /// lower case, no default port, no dots in the path, no escapes that are not needed; without fragment,
  /// name and password. The order of a query stays, since it may mean something.
  var normalisedForHTTP: String {
    guard let origin = HTTPOrigin(self),
      let parts = URLComponents(url: self.absoluteURL, resolvingAgainstBaseURL: true)
    else { return "" }
    let path = Self.withoutDots(Self.withoutNeedlessEscapes(parts.percentEncodedPath))
    let query = parts.percentEncodedQuery.map { "?" + Self.withoutNeedlessEscapes($0) } ?? ""
    let host = origin.host.contains(":") && !origin.host.hasPrefix("[")
    let authority =
      host ? origin.authority.replacing(origin.host, with: "[\(origin.host)]") : origin.authority
    return "\(origin.scheme)://\(authority)\(path)\(query)"
  }

  private static func withoutDots(_ path: String) -> String {
    var kept = [Substring]()
    let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    for (index, segment) in segments.enumerated() {
      let isLast = index == segments.count - 1
      switch segment {
      case ".": if isLast { kept.append("") }
      case "..":
        _ = kept.popLast()
        if isLast { kept.append("") }
      default: kept.append(segment)
      }
    }
    return "/" + kept.joined(separator: "/")
  }

  private static func withoutNeedlessEscapes(_ text: String) -> String {
    var (result, rest) = ([UInt8](), Array(text.utf8)[...])
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%"), rest.count >= 2,
        let code = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      else {
        result.append(byte)
        continue
      }
      if Self.isUnreserved(code) {
        result.append(code)
      } else {
        result.append(byte)
        result += Array(String(decoding: rest.prefix(2), as: UTF8.self).uppercased().utf8)
      }
      rest = rest.dropFirst(2)
    }
    return String(decoding: result, as: UTF8.self)
  }

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
    default: "-._~".utf8.contains(byte)
    }
  }
}
