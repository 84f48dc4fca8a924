/// The values that a query runs with: configuration, dependencies, and what the library tells the
/// query about the fetch at hand.
///
/// A context is a value. A query reads one in `fetch`, edits one in `setup`, and a store hands each
/// fetch a copy of its own. Add a property of your own with a ``Key``:
/// ```swift
/// extension QueryContext {
///   var pageSize: Int {
///     get { self[PageSizeKey.self] }
///     set { self[PageSizeKey.self] = newValue }
///   }
///
///   private enum PageSizeKey: Key {
///     static let defaultValue = 20
///   }
/// }
/// ```
///
/// - Complexity: Reading and writing is O(*k*) in the number of keys that were set; copying is O(1).
public struct QueryContext: Sendable {
  // The newest write first. Copies share the chain: a write to a shared one adds a node in front,
  // so that a fetch, which copies the context several times, never copies all values.
  @usableFromInline
  var head: ContextNode?

  /// The number of the store that the notes in this context are about; 0 if they are about none. Not a value
  /// of the chain: the context of a plain store has none, so that to copy it counts no reference.
  @usableFromInline
  var setupNumber = 0

  /// Creates a context in which no key is set.
  @inlinable
  public init() {}

  /// The type that names a value of a context, and its default.
  public protocol Key<Value> {
    /// The type of the value.
    associatedtype Value: Sendable

    /// What a context returns for this key if it was never set, evaluated at each such read.
    static var defaultValue: Value { get }
  }

  /// The value that is set for a key, or the key's default.
  ///
  /// - Parameter key: The type that names the value.
  @inlinable
  public subscript<Value>(_ key: (some Key<Value>).Type) -> Value {
    get {
      guard let node = self.node(for: ObjectIdentifier(key)) else { return key.defaultValue }
      return node._withUnsafeGuaranteedRef {
        unsafeDowncast($0, to: ContextValueNode<Value>.self).value
      }
    }
    set {
      let identifier = ObjectIdentifier(key)
      if let node = self.exclusiveNode(for: identifier) {
        node._withUnsafeGuaranteedRef {
          unsafeDowncast($0, to: ContextValueNode<Value>.self).value = newValue
        }
      } else {
        self.push(ContextValueNode(key: key, identifier: identifier, next: self.head, newValue))
      }
    }
  }
}

// MARK: - Chain

extension QueryContext {
  @inlinable
  @inline(__always)
  func node(for key: ObjectIdentifier) -> Unmanaged<ContextNode>? {
    guard let head = self.head, head.keysMask & ContextNode.maskBit(of: key) != 0 else {
      return nil
    }
    var node = Unmanaged.passUnretained(head)
    while true {
      if node._withUnsafeGuaranteedRef({ $0.key }) == key { return node }
      // Without a strong reference a step costs 1 ns, with one 18 ns.
      guard
        let next = node._withUnsafeGuaranteedRef({ $0.next.object.map(Unmanaged.passUnretained) })
      else { return nil }
      node = next
    }
  }

  /// The newest node of a key, if no other context can see it.
  @usableFromInline
  mutating func exclusiveNode(for key: ObjectIdentifier) -> Unmanaged<ContextNode>? {
    guard self.head != nil, isKnownUniquelyReferenced(&self.head) else { return nil }
    guard let head = self.head, head.keysMask & ContextNode.maskBit(of: key) != 0 else {
      return nil
    }
    var node = Unmanaged.passUnretained(head)
    while true {
      if node._withUnsafeGuaranteedRef({ $0.key }) == key { return node }
      let isNextExclusive = node._withUnsafeGuaranteedRef {
        isKnownUniquelyReferenced(&$0.next.object)
      }
      guard
        isNextExclusive,
        let next = node._withUnsafeGuaranteedRef({ $0.next.object.map(Unmanaged.passUnretained) })
      else { return nil }
      node = next
    }
  }

  @usableFromInline
  mutating func push(_ node: ContextNode) {
    self.head = node
    // Writes to a shared context leave older values of their keys behind; they are removed now and
    // then.
    if node.depth > 24 + 2 * node.distinctKeys { self.compact() }
  }

  private mutating func compact() {
    var head: ContextNode?
    for node in self.newestNodes().reversed() { head = node.copy(onto: head) }
    self.head = head
  }

  /// The node that counts for each key, the most recently written key first.
  func newestNodes() -> [ContextNode] {
    var seen = Set<ObjectIdentifier>()
    var nodes = [ContextNode]()
    var current = self.head
    while let node = current {
      if seen.insert(node.key).inserted { nodes.append(node) }
      current = node.next.object
    }
    return nodes
  }

  /// Writes every key that is set in another context.
  mutating func merge(_ other: QueryContext) {
    if other.setupNumber != 0 { self.setupNumber = other.setupNumber }
    guard self.head != nil else {
      self.head = other.head
      return
    }
    for node in other.newestNodes().reversed() {
      self.push(node.copy(onto: self.head))
    }
  }

  /// Whether the other one is a copy of this one, which both hold.
  @inlinable
  func isIdentical(to other: QueryContext) -> Bool {
    self.head === other.head && self.setupNumber == other.setupNumber
  }

  /// Whether a key was set, rather than left to its default.
  @inlinable
  func contains(_ key: (some Key).Type) -> Bool {
    self.node(for: ObjectIdentifier(key)) != nil
  }
}

// MARK: - CustomStringConvertible

extension QueryContext: CustomStringConvertible {
  /// The keys that were set and their values: `[K1 = v1, K2 = v2]`.
  public var description: String {
    "[\(self.newestNodes().map(\.description).joined(separator: ", "))]"
  }
}
