import Foundation

/// How a request goes on when the server redirects it.
///
/// 307 and 308 send the same request again, with its body and its `Idempotency-Key`. 303 says that the
/// request was carried out, and where to look: that is read without the body and the key. 301 and 302
/// are followed for `GET` and `HEAD` alone: others would become a `GET` that the server answers with
/// success, and the mutation would be lost. A redirect from https to http is never followed. An
/// answer that is not followed counts by its status.
///
/// A write is never sent to another origin: that is what a portal does with a request, and the write
/// would reach the portal, with its key, and count as sent.
struct HTTPRedirect: Hashable, Sendable {
  /// The target URL.
  var url: URL
  /// Whether the body and the key go with it.
  var keepsBody: Bool
  /// Whether the credentials go with it.
  var keepsCredentials: Bool

  /// How many redirects are followed.
  static let limit = 10

  /// - Parameters:
  ///   - answer: What the server answered.
  ///   - method: The method of the request.
  ///   - url: The URL that the request was sent to.
  /// - Returns: Nil if the answer is not a redirect to follow.
  /// - Throws: ``HTTPForeignAnswerError`` if a write is redirected to another origin.
  init?(_ answer: HTTPAnswer, to method: String, _ url: URL) throws(HTTPForeignAnswerError) {
    guard [301, 302, 303, 307, 308].contains(answer.status),
      let location = answer.headers["location"],
      let target = URL(string: location, relativeTo: url)?.absoluteURL,
      let origin = HTTPOrigin(url)
    else { return nil }
    let isRead = method == "GET" || method == "HEAD"
    let newOrigin = HTTPOrigin(target)
    if !isRead, newOrigin.map({ origin.mayBecome($0) }) != true {
      throw .otherOrigin(newOrigin.map { "\($0)" } ?? "another program")
    }
    guard let newOrigin, target.user() == nil,
      !(origin.scheme == "https" && newOrigin.scheme == "http")
    else { return nil }
    switch answer.status {
    case 307, 308: self.keepsBody = true
    case 301, 302:
      guard isRead else { return nil }
      self.keepsBody = true
    case 303: self.keepsBody = false
    default: return nil
    }
    self.url = target
    self.keepsCredentials = origin == newOrigin
  }
}
