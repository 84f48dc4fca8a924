/// Warnings that are the same for each store: each is reported once in a process.
package enum PersistenceWarnings {
  private static let reported = Locked(Set<String>())

  /// How many are remembered. Then all are forgotten, and may be reported again.
  private static let maximumCount = 1_000

  /// Reports a warning, unless one with this key was reported before.
  package static func reportOnce(_ warning: @autoclosure () -> QueryWarning, for key: String) {
    let isNew = self.reported.withLock { reported in
      if reported.count >= self.maximumCount { reported = [] }
      return reported.insert(key).inserted
    }
    if isNew { warning().report() }
  }

  /// Lets a test see a warning again.
  static func forget(_ key: String) {
    self.reported.withLock { _ = $0.remove(key) }
  }
}

extension QueryWarning {
  /// A query is persisted, and there is no storage to keep it in.
  ///
  /// - Parameter query: The name of the query.
  public static func noStorage(query: String) -> QueryWarning {
    """
    \(query) is persisted(), but its context has no queryStorage. It works, and is forgotten when the \
    program ends. Create the client with QueryClient(storage:). This is said once, for all queries.
    """
  }

  /// A query is persisted, and its path has no identity.
  ///
  /// - Parameters:
  ///   - query: The name of the query.
  ///   - error: Why not.
  public static func noIdentity(query: String, error: QueryIdentityError) -> QueryWarning {
    "\(query) is persisted(), but works without being stored. \(error)"
  }

  /// A query is persisted, and what is stored is found by the name of the query's type.
  ///
  /// - Parameters:
  ///   - query: The name of the query.
  ///   - identity: The identity that has the name of the type in it.
  public static func storedUnderTypeName(
    query: String,
    identity: QueryIdentity
  ) -> QueryWarning {
    """
    \(query) is stored as \(identity), with the name of its type: a release that renames or moves the \
    type does not find what this one has stored. Give it a name by persisted(as:), or a path of plain \
    values. This is said once, for all such queries of the type.
    """
  }

  /// Two queries whose paths are not equal would be stored as one.
  ///
  /// - Parameters:
  ///   - identity: The identity of both.
  ///   - paths: The path of the query that lives, and that of the new one.
  public static func sameIdentity(
    identity: QueryIdentity,
    paths: (QueryPath, QueryPath)
  ) -> QueryWarning {
    """
    Two queries with unequal paths, \(paths.0) and \(paths.1), have the identity \(identity). The \
    second one works without being stored. Give one of them PersistenceOptions(identity:).
    """
  }

  /// A value is not stored, since the storage was erased after its store was made.
  ///
  /// - Parameter identity: The identity of the query.
  public static func storeNotWrittenAfterErasing(identity: QueryIdentity) -> QueryWarning {
    """
    The value of \(identity) is not stored: its account was erased after the store was made. Call \
    client.clearStores() after erase(), and make the store anew.
    """
  }

  /// A value could not be coded, so it is not stored.
  ///
  /// - Parameters:
  ///   - identity: The identity of the query.
  ///   - error: What the coder threw.
  public static func valueNotEncoded(identity: QueryIdentity, error: any Error) -> QueryWarning {
    """
    The value of \(identity) could not be coded and is not stored; what was stored before stays. \
    \(RestoredError(error).text)
    """
  }

  /// A value is too large to be stored.
  ///
  /// - Parameters:
  ///   - identity: The identity of the query.
  ///   - bytes: How many bytes it has, coded.
  ///   - limit: How many it may have.
  public static func valueTooLarge(
    identity: QueryIdentity,
    bytes: Int,
    limit: Int
  ) -> QueryWarning {
    """
    The value of \(identity) has \(bytes) bytes, more than the \(limit) that the storage takes, and is \
    not stored; what was stored before stays. Split it, or raise maximumValueBytes.
    """
  }
}
