public import FoundationEssentials

/// Keeps values as binary property lists.
///
/// Such a list has an array or a dictionary at its top. A value that encodes as anything else, such
/// as a number, a date or nil, is the only entry of a dictionary, under the key `query.value`.
public struct PropertyListQueryCoder: QueryCoder {
  private let encoder: PropertyListEncoder
  private let decoder = PropertyListDecoder()

  /// Creates a coder. All of a kind are alike.
  public init() {
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .binary
    self.encoder = encoder
  }

  /// `propertyList`.
  public var name: String { "propertyList" }

  public func encode<T: Encodable>(_ value: T) throws -> Data {
    do {
      return try self.encoder.encode(value)
    } catch {
      // If the error was not about a missing container at the top, the wrapped value cannot be
      // encoded either, and the first error is the one that describes the value.
      guard let data = try? self.encoder.encode(Wrapped(value: value)) else { throw error }
      return data
    }
  }

  public func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T {
    try self.decoder.decode(Unwrapped<T>.self, from: data).value
  }
}

extension QueryCoder where Self == PropertyListQueryCoder {
  /// Binary property lists.
  public static var propertyList: PropertyListQueryCoder { .shared }
}

extension PropertyListQueryCoder {
  fileprivate static let shared = PropertyListQueryCoder()
}

private enum WrapperKey: String, CodingKey {
  case value = "query.value"
}

private struct Wrapped<Value: Encodable>: Encodable {
  let value: Value

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: WrapperKey.self)
    try container.encode(self.value, forKey: .value)
  }
}

/// A value that may be wrapped. One look decides: to try one way and then the other would parse the
/// list twice, and would read a wrapped nil as a value whose properties are all absent.
private struct Unwrapped<Value: Decodable>: Decodable {
  let value: Value

  init(from decoder: any Decoder) throws {
    if let container = try? decoder.container(keyedBy: WrapperKey.self),
      container.contains(.value)
    {
      self.value = try container.decode(Value.self, forKey: .value)
    } else {
      self.value = try decoder.singleValueContainer().decode(Value.self)
    }
  }
}
