public import Foundation

/// What a durable request sends.
public enum HTTPRequestBody: Hashable, Sendable {
  /// Nothing.
  case none
  /// These bytes, which are kept in the row.
  case data(Data)
  /// A file. It is copied beside the outbox before the request is committed, and may be changed or
  /// removed as soon as that is done.
  case file(URL)
  /// The copy of a file.
  case copy(HTTPBodyCopy)
}

/// The copy of a file that a request sends, beside the outbox.
public struct HTTPBodyCopy: Hashable, Sendable {
  /// Its name in the folder.
  public let name: String
  /// How many bytes it has.
  public let byteCount: Int
  /// FNV-1a (64 bits) of its bytes.
  public let checksum: UInt64
}

extension HTTPRequestBody: Codable {
  private enum CodingKeys: String, CodingKey { case data, name, byteCount, checksum }

  /// - Throws: ``HTTPRequestError/badFileName(_:)``; what the decoder throws.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    if let data = try values.decodeIfPresent(Data.self, forKey: .data) {
      self = .data(data)
    } else if let name = try values.decodeIfPresent(String.self, forKey: .name) {
      // Accepts only names that the library makes: never a path out of the folder.
      guard UUID(uuidString: name) != nil else { throw HTTPRequestError.badFileName(name) }
      self = .copy(
        HTTPBodyCopy(
          name: name, byteCount: try values.decode(Int.self, forKey: .byteCount),
          checksum: try values.decode(UInt64.self, forKey: .checksum)))
    } else {
      self = .none
    }
  }

  /// - Throws: ``HTTPRequestError/noFolderForFiles`` for a file that was not copied, since the storage
  ///   has no place for that; what the encoder throws.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .none: break
    case .data(let data): try values.encode(data, forKey: .data)
    case .file: throw HTTPRequestError.noFolderForFiles
    case .copy(let copy):
      try values.encode(copy.name, forKey: .name)
      try values.encode(copy.byteCount, forKey: .byteCount)
      try values.encode(copy.checksum, forKey: .checksum)
    }
  }
}
