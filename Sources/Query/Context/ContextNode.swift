/// One key and its value in the chain of a ``QueryContext``.
///
/// A node is written only while a single context can reach it, and is constant otherwise.
// @unchecked: `next` and the value change only behind isKnownUniquelyReferenced.
@usableFromInline
class ContextNode: CustomStringConvertible, @unchecked Sendable {
  @usableFromInline
  final let key: ObjectIdentifier
  @exclusivity(unchecked)
  @usableFromInline
  final var next: ChainLink<ContextNode>
  /// A bit for each key of the chain from here on, so that most misses cost one comparison.
  @usableFromInline
  final let keysMask: UInt64
  @usableFromInline
  final let depth: Int32
  @usableFromInline
  final let distinctKeys: Int32

  @usableFromInline
  init(identifier: ObjectIdentifier, next: ContextNode?) {
    self.key = identifier
    self.next = ChainLink(next)
    self.keysMask = (next?.keysMask ?? 0) | Self.maskBit(of: identifier)
    self.depth = (next?.depth ?? 0) + 1
    let isShadowing = QueryContext(head: next).node(for: identifier) != nil
    self.distinctKeys = (next?.distinctKeys ?? 0) + (isShadowing ? 0 : 1)
  }

  @inlinable
  @inline(__always)
  static func maskBit(of key: ObjectIdentifier) -> UInt64 {
    // Type metadata is aligned to 16 bytes, so the lowest bits of its address say nothing.
    let address = UInt(bitPattern: key)
    return 1 << (((address >> 4) ^ (address >> 10)) & 63)
  }

  /// The same key and value in front of another chain.
  func copy(onto next: ContextNode?) -> ContextNode {
    preconditionFailure("A context holds only nodes with a value.")
  }

  @usableFromInline
  var description: String { "" }
}

// @unchecked: see ContextNode.
@usableFromInline
final class ContextValueNode<Value: Sendable>: ContextNode, @unchecked Sendable {
  private let keyType: any QueryContext.Key.Type
  @exclusivity(unchecked)
  @usableFromInline
  var value: Value

  @usableFromInline
  init(
    key: any QueryContext.Key.Type,
    identifier: ObjectIdentifier,
    next: ContextNode?,
    _ value: Value
  ) {
    self.keyType = key
    self.value = value
    super.init(identifier: identifier, next: next)
  }

  override func copy(onto next: ContextNode?) -> ContextNode {
    ContextValueNode(key: self.keyType, identifier: self.key, next: next, self.value)
  }

  @usableFromInline
  override var description: String {
    "\(TypeName.of(self.keyType, generics: .dropped)) = \(self.value)"
  }
}

extension QueryContext {
  @usableFromInline
  init(head: ContextNode?) {
    self.head = head
  }
}
