public import FoundationEssentials

/// How a query is kept on disk; see ``QueryRequest/persisted(_:)``.
public struct PersistenceOptions: Sendable {
  /// The version of the value's shape. Raise it when a stored value would no longer decode, or would
  /// mean something else.
  public var version: Int

  /// How old a value may be to be shown, by the clock of the query's context; nil: any age. An
  /// older value stays on disk until its room is needed.
  public var maxAge: Duration?

  /// What makes bytes of values.
  public var coder: any QueryCoder

  /// Whether the entry stays when others are evicted to keep to the limits of the storage.
  public var isPinned: Bool

  /// The key that the query is stored under; nil: the canonical text of its path, with the name of
  /// ``QueryRequest/persisted(as:_:)`` if it has one. Needed if a path has no
  /// ``QueryIdentity``, or if two unequal paths have the same.
  public var identity: QueryIdentity?

  /// Upgrades the bytes of a value of an older version, which is the second argument, to this
  /// version; nil: older values are not read. For an infinite query it is called with the value of
  /// each page. An error that it throws means that the value cannot be read.
  public var upgrade: (@Sendable (Data, Int) throws -> Data)?

  /// Creates options.
  ///
  /// - Parameters:
  ///   - version: The version of the value's shape.
  ///   - maxAge: How old a value may be to be shown.
  ///   - coder: Codes values as bytes.
  ///   - isPinned: Whether the entry stays when others are evicted.
  ///   - identity: The key that the query is stored under.
  ///   - upgrade: Upgrades the bytes of a value of an older version to this one.
  public init(
    version: Int = 1,
    maxAge: Duration? = nil,
    coder: any QueryCoder = .json,
    isPinned: Bool = false,
    identity: QueryIdentity? = nil,
    upgrade: (@Sendable (Data, Int) throws -> Data)? = nil
  ) {
    self.version = version
    self.maxAge = maxAge
    self.coder = coder
    self.isPinned = isPinned
    self.identity = identity
    self.upgrade = upgrade
  }
}
