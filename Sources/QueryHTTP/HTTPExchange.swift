import Foundation
import FoundationNetworking

/// One request with its redirects: the place where credentials are looked up and redirects followed, for
/// reads and writes alike.
struct HTTPExchange: Sendable {
  let transport: HTTPTransport
  let credentials: HTTPCredentials
  /// The name of the credential; nil: the request needs none.
  let credential: HTTPCredential.Name?

  /// Sends a request, and the ones that it is redirected to.
  ///
  /// - Parameters:
  ///   - method: The method.
  ///   - url: The URL.
  ///   - limit: How many bytes of the answer are taken.
  ///   - accepts: Whether a status is an answer, even if it could be a redirect.
  ///   - progress: Called with how many bytes of a file have been sent.
  ///   - fill: Adds to a request, before each is sent; told whether it is the request itself rather
  ///     than a read that the server points to. It returns the file to send, if there is one.
  /// - Returns: The answer, and the URL that it came from.
  /// - Throws: ``HTTPRequestError``; ``HTTPCredentialError``; ``HTTPForeignAnswerError``; `URLError`;
  ///   what a credential throws.
  func send(
    _ method: String, _ url: URL, limit: Int, accepts: (Int) -> Bool,
    progress: @escaping @Sendable (Int64) -> Void = { _ in },
    fill: (inout URLRequest, _ isWhole: Bool) -> URL?
  ) async throws -> (HTTPAnswer, URL) {
    guard let origin = HTTPOrigin(url) else {
      throw HTTPRequestError.badURL(url.absoluteString)
    }
    var secrets = try await self.credentials.headers(for: self.credential, to: origin)
    let began = ContinuousClock.now
    var (method, url, isWhole) = (method, url, true)
    var count = 0
    while true {
      var request = URLRequest(url: url)
      request.httpMethod = method
      for (name, value) in secrets { request.setValue(value, forHTTPHeaderField: name) }
      let file = fill(&request, isWhole)
      let answer = try await self.transport.send(
        request, file: file, limit: limit, began: began, progress: progress)
      guard !accepts(answer.status), count < HTTPRedirect.limit,
        let redirect = try HTTPRedirect(answer, to: method, url)
      else { return (answer, url) }
      if !redirect.keepsCredentials { secrets = [:] }
      if !redirect.keepsBody { (method, isWhole) = ("GET", false) }
      (url, count) = (redirect.url, count + 1)
    }
  }
}
