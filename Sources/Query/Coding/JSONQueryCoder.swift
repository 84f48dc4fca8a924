public import FoundationEssentials

/// Keeps values as JSON, which other programs and people can read.
///
/// Keys are sorted, since otherwise no two processes would write the same bytes. Numbers that JSON
/// does not have are the strings `nan`, `inf` and `-inf`. Dates are seconds since 2001, data is
/// base64. A number, a string or nil may stand at the top.
public struct JSONQueryCoder: QueryCoder {
  private let encoder: JSONEncoder
  private let decoder: JSONDecoder

  /// Creates a coder. All of a kind are alike.
  public init() {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf",
      negativeInfinity: "-inf",
      nan: "nan"
    )
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "inf",
      negativeInfinity: "-inf",
      nan: "nan"
    )
    self.encoder = encoder
    self.decoder = decoder
  }

  /// `json`.
  public var name: String { "json" }

  public func encode<T: Encodable>(_ value: T) throws -> Data {
    // What most mutations return is an identifier: its digits, without an encoder.
    if T.self == Int.self, let number = value as? Int { return Data(String(number).utf8) }
    return try self.encoder.encode(value)
  }

  public func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T {
    try self.decoder.decode(type, from: data)
  }
}

extension QueryCoder where Self == JSONQueryCoder {
  /// JSON with sorted keys.
  public static var json: JSONQueryCoder { .shared }
}

extension JSONQueryCoder {
  /// The shared one: making its encoder and decoder costs more than a small value does.
  fileprivate static let shared = JSONQueryCoder()
}
