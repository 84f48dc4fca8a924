import Foundation

/// The coded form in a pack, from which a later launch makes the read. A read that may contain a secret has
/// none.
extension HTTPRead: Codable {
  private enum CodingKeys: String, CodingKey {
    case url, headers, credential, policy, removesOnGone, expects
  }

  /// - Throws: ``HTTPRequestError``; `DecodingError`.
  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    try self.init(
      url: values.decode(URL.self, forKey: .url),
      headers: values.decodeIfPresent([String: String].self, forKey: .headers) ?? [:],
      credential: values.decodeIfPresent(String.self, forKey: .credential),
      policy: values.decodeIfPresent(HTTPCachePolicy.self, forKey: .policy) ?? .validators,
      removesOnGone: values.decodeIfPresent(Bool.self, forKey: .removesOnGone) ?? false,
      expects: values.decodeIfPresent(HTTPExpectation.self, forKey: .expects))
    // The contents of a file are not trusted either.
    try self.validate()
  }

  /// - Throws: ``HTTPRequestError``; `EncodingError`.
  func encode(to encoder: any Encoder) throws {
    try self.validate()
    var values = encoder.container(keyedBy: CodingKeys.self)
    try values.encode(self.url, forKey: .url)
    if !self.headers.isEmpty { try values.encode(self.headers, forKey: .headers) }
    try values.encodeIfPresent(self.credential, forKey: .credential)
    if self.policy != .validators { try values.encode(self.policy, forKey: .policy) }
    if self.removesOnGone { try values.encode(true, forKey: .removesOnGone) }
    try values.encodeIfPresent(self.expects, forKey: .expects)
  }

  private func validate() throws {
    _ = try HTTPRequestDescription(method: "GET", url: self.url, headers: self.headers)
  }
}
