public import Foundation

/// What a server answered to a request of ``HTTPMutation``.
public struct HTTPResponseDescription: Codable, Hashable, Sendable {
  /// The status.
  public let status: Int
  /// The headers that say what became of the request, their names in lower case:
  /// `content-location`, `content-type`, `etag`, `last-modified` and `location`.
  public let headers: [String: String]
  /// The beginning of the body, as long as the request allows.
  public let body: Data
  /// Whether there was more.
  public let wasTruncated: Bool

  /// Creates an answer. See the properties for what each is.
  public init(
    status: Int, headers: [String: String] = [:], body: Data = Data(), wasTruncated: Bool = false
  ) {
    self.status = status
    self.headers = headers
    self.body = body
    self.wasTruncated = wasTruncated
  }

  static let keptHeaders: Set<String> = [
    "content-location", "content-type", "etag", "last-modified", "location",
  ]
}
