public import Foundation

/// A request that ``HTTPMutation`` sends: all of it is written to the outbox, so it holds no secrets.
///
/// ```swift
/// let request = try HTTPRequestDescription(
///   method: "PUT", url: notes.appending(path: "3"),
///   headers: ["Content-Type": "application/json"], body: .data(json), credential: "api")
/// ```
/// A query of the URL is written too: put no token there.
public struct HTTPRequestDescription: Hashable, Sendable {
  /// The method, as `PUT`.
  public let method: String
  /// The target URL.
  public let url: URL
  /// The headers; all of them are ``allowedHeaders``.
  public let headers: [String: String]
  /// What is sent.
  public let body: HTTPRequestBody
  /// The statuses that mean success, as ranges. 200 to 299 by default.
  public let acceptedStatuses: [ClosedRange<Int>]
  /// How many bytes of the answer are kept. 64 KiB by default.
  public let responseLimit: Int
  /// The name of the credential that it is sent with; nil if it needs none.
  public let credential: String?
  /// What tells the server's own answer from that of a portal; nil: any that is accepted counts.
  public let expects: HTTPExpectation?

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - method: The method.
  ///   - url: A URL of HTTP or HTTPS, without a name and password.
  ///   - headers: Headers, of ``allowedHeaders`` alone. Others, such as a secret or one of the
  ///     application's own, come from the credential.
  ///   - body: What is sent.
  ///   - acceptedStatuses: The statuses that mean success.
  ///   - responseLimit: How many bytes of the answer are kept.
  ///   - credential: The name of the credential that it is sent with.
  ///   - expects: What tells the server's own answer from that of a portal. A tool of an older
  ///     version does not check it.
  /// - Throws: ``HTTPRequestError``.
  public init(
    method: String = "POST",
    url: URL,
    headers: [String: String] = [:],
    body: HTTPRequestBody = .none,
    acceptedStatuses: [ClosedRange<Int>] = [200...299],
    responseLimit: Int = 64 << 10,
    credential: String? = nil,
    expects: HTTPExpectation? = nil
  ) throws {
    self.method = method
    self.url = url.absoluteURL
    self.headers = headers
    self.body = body
    self.acceptedStatuses = acceptedStatuses
    self.responseLimit = max(0, responseLimit)
    self.credential = credential
    self.expects = expects
    try self.validate()
  }

  func accepts(_ status: Int) -> Bool { self.acceptedStatuses.contains { $0.contains(status) } }
}

// MARK: - What is allowed

extension HTTPRequestDescription {
  /// The names of the headers that may be written to the file, in lower case: none of them carries a
  /// secret, and none is the library's own to set.
  public static let allowedHeaders: Set<String> = [
    "accept", "accept-language", "content-disposition", "content-encoding", "content-language",
    "content-type", "depth", "destination", "if-match", "if-modified-since", "if-none-match",
    "if-unmodified-since", "overwrite", "prefer", "user-agent",
  ]

  /// - Throws: ``HTTPRequestError``.
  private func validate() throws {
    let isMethod = !self.method.isEmpty && self.method.utf8.allSatisfy { $0 >= 0x41 && $0 <= 0x5a }
    guard isMethod else { throw HTTPRequestError.badMethod(self.method) }
    guard HTTPOrigin(self.url) != nil else {
      throw HTTPRequestError.badURL(self.url.absoluteString)
    }
    guard self.url.user() == nil, self.url.password() == nil else {
      throw HTTPRequestError.secretInURL
    }
    for (name, value) in self.headers {
      guard Self.allowedHeaders.contains(name.lowercased()) else {
        throw HTTPRequestError.headerNotAllowed(name)
      }
      guard Self.isHeaderValue(value) else { throw HTTPRequestError.badHeaderValue(name) }
    }
  }

  /// Whether a text stays within its header.
  static func isHeaderValue(_ text: String) -> Bool {
    text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }
  }

  /// Whether a text may be a method, or the name of a header: RFC 9110, 5.6.2.
  static func isToken(_ text: String) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { byte in
        byte > 0x20 && byte < 0x7f && !"\"(),/:;<=>?@[\\]{}".utf8.contains(byte)
      }
  }
}

// MARK: - Codable

extension HTTPRequestDescription: Codable {
  private enum CodingKeys: String, CodingKey {
    case method, url, headers, body, acceptedStatuses, responseLimit, credential, expects
  }

  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    // A row's content is not trusted either.
    try self.init(
      method: values.decode(String.self, forKey: .method),
      url: values.decode(URL.self, forKey: .url),
      headers: values.decode([String: String].self, forKey: .headers),
      body: values.decode(HTTPRequestBody.self, forKey: .body),
      acceptedStatuses: values.decode([ClosedRange<Int>].self, forKey: .acceptedStatuses),
      responseLimit: values.decode(Int.self, forKey: .responseLimit),
      credential: values.decodeIfPresent(String.self, forKey: .credential),
      expects: values.decodeIfPresent(HTTPExpectation.self, forKey: .expects))
  }

  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: CodingKeys.self)
    try values.encode(self.method, forKey: .method)
    try values.encode(self.url, forKey: .url)
    try values.encode(self.headers, forKey: .headers)
    try values.encode(self.body, forKey: .body)
    try values.encode(self.acceptedStatuses, forKey: .acceptedStatuses)
    try values.encode(self.responseLimit, forKey: .responseLimit)
    try values.encodeIfPresent(self.credential, forKey: .credential)
    try values.encodeIfPresent(self.expects, forKey: .expects)
  }
}
