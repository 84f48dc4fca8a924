public import Foundation

/// What a durable request sends.
public enum HTTPRequestBody: Hashable, Sendable {
  /// Nothing.
  case none
  /// These bytes, which are kept in the row.
  case data(Data)
  /// A file. It is copied beside the outbox before the request is committed, and may be changed or
  /// removed as soon as that is done: the copy is what is sent. The row keeps its path, for people.
  case file(URL)
}

extension HTTPRequestBody: Codable {
  private enum CodingKeys: String, CodingKey { case data, file }

  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    if let data = try values.decodeIfPresent(Data.self, forKey: .data) {
      self = .data(data)
    } else if let path = try values.decodeIfPresent(String.self, forKey: .file) {
      self = .file(URL(filePath: path, directoryHint: .notDirectory))
    } else {
      self = .none
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .none: break
    case .data(let data): try values.encode(data, forKey: .data)
    case .file(let file): try values.encode(file.path, forKey: .file)
    }
  }
}
