/// Takes what a value encodes, in canonical form at every level: a value that is handed to a
/// container is written as if it stood in the path, so sets and dictionaries are ordered, and the
/// values of other types have their names.
struct CanonicalEncoder: Encoder {
  let node: EncodedNode

  var codingPath: [any CodingKey] { self.node.codingPath }

  /// Empty: an identity depends on nothing but the path.
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(CanonicalKeyedContainer<Key>(node: self.node))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    CanonicalUnkeyedContainer(node: self.node)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer {
    CanonicalSingleValueContainer(node: self.node)
  }
}

/// The values at the keys of an object.
struct CanonicalKeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  private let node: EncodedNode

  init(node: EncodedNode) {
    node.becomeObject()
    self.node = node
  }

  var codingPath: [any CodingKey] { self.node.codingPath }

  func encodeNil(forKey key: Key) throws {
    try self.node.set(key) { $0.append("null") }
  }

  func encode(_ value: some Encodable, forKey key: Key) throws {
    try self.node.set(key) { try $0.write(value) }
  }

  func encode(_ value: Int128, forKey key: Key) throws {
    try self.node.set(key) { $0.writeInteger(value) }
  }

  func encode(_ value: UInt128, forKey key: Key) throws {
    try self.node.set(key) { $0.writeInteger(value) }
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy keyType: NestedKey.Type,
    forKey key: Key
  ) -> KeyedEncodingContainer<NestedKey> {
    CanonicalEncoder(node: self.node.node(at: key)).container(keyedBy: keyType)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    CanonicalUnkeyedContainer(node: self.node.node(at: key))
  }

  func superEncoder() -> any Encoder {
    CanonicalEncoder(node: self.node.node(at: SuperKey()))
  }

  func superEncoder(forKey key: Key) -> any Encoder {
    CanonicalEncoder(node: self.node.node(at: key))
  }
}

/// The key for a superclass that encodes itself without being given one.
private struct SuperKey: CodingKey {
  let stringValue = "super"
  let intValue: Int? = nil

  init() {}
  init?(stringValue: String) { nil }
  init?(intValue: Int) { nil }
}

/// The values of a list.
struct CanonicalUnkeyedContainer: UnkeyedEncodingContainer {
  private let node: EncodedNode

  init(node: EncodedNode) {
    node.becomeList()
    self.node = node
  }

  var codingPath: [any CodingKey] { self.node.codingPath }
  var count: Int { self.node.count }

  func encodeNil() throws {
    try self.node.append { $0.append("null") }
  }

  func encode(_ value: some Encodable) throws {
    try self.node.append { try $0.write(value) }
  }

  func encode(_ value: Int128) throws {
    try self.node.append { $0.writeInteger(value) }
  }

  func encode(_ value: UInt128) throws {
    try self.node.append { $0.writeInteger(value) }
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy keyType: NestedKey.Type
  ) -> KeyedEncodingContainer<NestedKey> {
    CanonicalEncoder(node: self.node.appendNode()).container(keyedBy: keyType)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
    CanonicalUnkeyedContainer(node: self.node.appendNode())
  }

  func superEncoder() -> any Encoder {
    CanonicalEncoder(node: self.node.appendNode())
  }
}

/// One value in the place of a container.
struct CanonicalSingleValueContainer: SingleValueEncodingContainer {
  let node: EncodedNode

  var codingPath: [any CodingKey] { self.node.codingPath }

  func encodeNil() throws {
    try self.node.setSingle { $0.append("null") }
  }

  func encode(_ value: some Encodable) throws {
    try self.node.setSingle { try $0.write(value) }
  }

  func encode(_ value: Int128) throws {
    try self.node.setSingle { $0.writeInteger(value) }
  }

  func encode(_ value: UInt128) throws {
    try self.node.setSingle { $0.writeInteger(value) }
  }
}
