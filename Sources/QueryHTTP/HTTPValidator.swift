import Foundation
import FoundationNetworking
import Query

/// By what a server knows again what it has answered; kept as metadata beside the value.
struct HTTPValidator: Codable, Hashable, Sendable {
  /// The `ETag`, as it came: strong or weak, and with the suffix of a proxy that packs.
  private var etag: String?
  /// The `Last-Modified`, as it came. It is sent if there is no `ETag`.
  private var lastModified: String?
  /// The URL that answered, after redirects. A hash of it, since a signed one must not be kept.
  private var url: UInt64
  /// For how many seconds the server has said that the value is fresh, for an answer that does not
  /// repeat it.
  private(set) var lifetime: Double?

  private enum CodingKeys: String, CodingKey {
    case etag = "e"
    case lastModified = "m"
    case url = "u"
    case lifetime = "f"
  }

  /// How many bytes the metadata of a value may have.
  private static let limit = 4 << 10

  /// - Parameters:
  ///   - answer: A whole answer.
  ///   - url: Where it came from.
  ///   - lifetime: How long it is fresh.
  /// - Returns: Nil if there is nothing to ask by, or if the answer depends on more than a request says.
  init?(_ answer: HTTPAnswer, from url: URL, lifetime: Duration?) {
    let varying = answer.headers["vary"]?.split(separator: ",").map {
      $0.trimmingCharacters(in: .whitespaces)
    }
    if varying?.contains("*") == true { return nil }
    self.etag = answer.headers["etag"].flatMap(Self.usable)
    self.lastModified = answer.headers["last-modified"].flatMap(Self.usable)
    if self.etag == nil, self.lastModified == nil { return nil }
    self.url = Self.hash(of: url)
    self.lifetime = lifetime.map { $0 / .seconds(1) }
  }

  /// Reads what was kept.
  init?(_ metadata: Data?) {
    guard let metadata, let read = try? JSONDecoder().decode(Self.self, from: metadata) else {
      return nil
    }
    self = read
  }

  /// What is kept; nil if it does not fit.
  var metadata: Data? {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(self), data.count <= Self.limit else { return nil }
    return data
  }

  /// Lets a request ask whether the value still holds.
  ///
  /// - Returns: Whether it asks: not of another URL than the one that has answered.
  func ask(_ request: inout URLRequest) -> Bool {
    guard let url = request.url, Self.hash(of: url) == self.url else { return false }
    if let etag {
      request.setValue(etag, forHTTPHeaderField: "If-None-Match")
    } else {
      request.setValue(self.lastModified, forHTTPHeaderField: "If-Modified-Since")
    }
    return true
  }

  /// The same after an answer that the value still holds, which may name it otherwise.
  func confirmed(by answer: HTTPAnswer, lifetime: Duration?) -> HTTPValidator {
    var confirmed = self
    if let etag = answer.headers["etag"].flatMap(Self.usable) { confirmed.etag = etag }
    if let date = answer.headers["last-modified"].flatMap(Self.usable) {
      confirmed.lastModified = date
    }
    if let lifetime { confirmed.lifetime = lifetime / .seconds(1) }
    return confirmed
  }

  /// What can be sent back, and leaves room for the rest.
  private static func usable(_ value: String) -> String? {
    let isText = value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
    return isText && !value.isEmpty && value.utf8.count <= 1_500 ? value : nil
  }

  private static func hash(of url: URL) -> UInt64 {
    var hash = FNV1a()
    var text = url.normalisedForHTTP
    text.withUTF8 { hash.feed(UnsafeRawBufferPointer($0)) }
    return hash.value
  }
}
