public import FoundationEssentials

/// The error of a request for an HTTP status that it does not accept.
public struct HTTPStatusError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The status, as 503.
  public let statusCode: Int

  /// How long the server asks to wait, by its `Retry-After`.
  public let retryAfter: Duration?

  /// The beginning of the answer's body, for diagnosis.
  public let body: Data?

  /// Creates an error.
  ///
  /// - Parameters:
  ///   - statusCode: The status.
  ///   - retryAfter: How long the server asks to wait.
  ///   - body: The beginning of the answer's body.
  public init(statusCode: Int, retryAfter: Duration? = nil, body: Data? = nil) {
    self.statusCode = statusCode
    self.retryAfter = retryAfter
    self.body = body
  }

  /// The status, and what to do about it. The body is left out: it may have a user's values in it.
  public var description: String {
    "The server answered with status \(self.statusCode). \(self.remedy)"
  }

  private var remedy: String {
    if let retryAfter = self.retryAfter { return "It asks to wait \(retryAfter)." }
    return switch self.statusCode {
    case 401: "Sign in again."
    case 403: "Sign in as somebody who may do this."
    case 407, 511: "Sign in to the network: a proxy or a portal answered."
    case 409, 412, 428: "Fetch again what the request changes, and make another one of that."
    case 408, 423, 425, 429, 500, 502...504, 506...599: "Try again later."
    default: "It will answer the same request like this again: change the request."
    }
  }
}

// MARK: - Retry-After

extension HTTPStatusError {
  /// How long a `Retry-After` asks to wait: seconds, or a date (RFC 9110, 10.2.3); of several, the longest.
  /// Nil for what is neither, a date in the past included.
  ///
  /// - Parameters:
  ///   - header: The field's value.
  ///   - now: The time relative to which a date counts.
  /// - Returns: At most 24 hours: a server's mistake must not park a write for a year.
  public static func retryAfter(header: String, now: Date) -> Duration? {
    if let wait = Self.wait(header, now: now) { return wait }
    // A field that came twice, which is joined by commas.
    return header.split(separator: ",").compactMap { Self.wait(String($0), now: now) }.max()
  }

  private static func wait(_ header: String, now: Date) -> Duration? {
    let end = header.lastIndex { !Self.isSpace($0) }.map { header.index(after: $0) }
    let text = header[..<(end ?? header.startIndex)].drop(while: Self.isSpace)
    let limit = Duration.seconds(24 * 3_600)
    if !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) {
      // A number with too many digits is more than a day.
      return Int(text).map { min(.seconds(min($0, 86_400)), limit) } ?? limit
    }
    guard let date = HTTPDate.parse(String(text), now: now) else { return nil }
    let seconds = date.timeIntervalSince(now)
    return seconds > 0 ? min(.seconds(seconds), limit) : nil
  }

  private static func isSpace(_ character: Character) -> Bool {
    character == " " || character == "\t"
  }
}
