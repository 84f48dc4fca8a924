import Foundation

/// Codes the arguments and the result of a mutation.
struct MutationCodec<Arguments: Sendable, Value: Sendable>: Sendable {
  let encodeArguments: @Sendable (Arguments, any QueryCoder) throws -> Data
  let decodeArguments: @Sendable (Data, any QueryCoder) throws -> Arguments
  let encodeValue: @Sendable (Value, any QueryCoder) throws -> Data
  let decodeValue: @Sendable (Data, any QueryCoder) throws -> Value
}

extension MutationCodec where Arguments: Codable, Value: Codable {
  static var coded: Self {
    Self(
      encodeArguments: { try $1.encode($0) },
      decodeArguments: { try $1.decode(Arguments.self, from: $0) },
      encodeValue: { try $1.encode($0) },
      decodeValue: { try $1.decode(Value.self, from: $0) })
  }
}

// Void is not Codable, and needs no bytes.

extension MutationCodec where Arguments == Void, Value: Codable {
  static var coded: Self {
    Self(
      encodeArguments: { _, _ in Data() },
      decodeArguments: { _, _ in },
      encodeValue: { try $1.encode($0) },
      decodeValue: { try $1.decode(Value.self, from: $0) })
  }
}

extension MutationCodec where Arguments: Codable, Value == Void {
  static var coded: Self {
    Self(
      encodeArguments: { try $1.encode($0) },
      decodeArguments: { try $1.decode(Arguments.self, from: $0) },
      encodeValue: { _, _ in Data() },
      decodeValue: { _, _ in })
  }
}

extension MutationCodec where Arguments == Void, Value == Void {
  static var coded: Self {
    Self(
      encodeArguments: { _, _ in Data() },
      decodeArguments: { _, _ in },
      encodeValue: { _, _ in Data() },
      decodeValue: { _, _ in })
  }
}
