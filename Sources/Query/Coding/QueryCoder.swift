public import FoundationEssentials

/// How a value is turned into the bytes that a storage keeps, and back.
///
/// ```swift
/// query.persisted(PersistenceOptions(coder: .propertyList))
/// ```
/// A storage writes the name of the coder beside the bytes, and reads bytes of another name as a
/// miss.
public protocol QueryCoder: Sendable {
  /// Tells the bytes of this coder from those of others. A coder whose bytes change so that its
  /// older version cannot read them must change its name.
  var name: String { get }

  /// Turns a value into bytes. Equal values should make equal bytes, even in another process, since
  /// bytes that are already stored are not written again.
  ///
  /// - Parameter value: The value.
  /// - Returns: The bytes.
  /// - Throws: An `EncodingError`, or what the value's `encode(to:)` throws.
  func encode<T: Encodable>(_ value: T) throws -> Data

  /// Turns bytes back into a value.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - data: What ``encode(_:)`` returned.
  /// - Returns: The value.
  /// - Throws: A `DecodingError`, or what the value's `init(from:)` throws.
  func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T
}
