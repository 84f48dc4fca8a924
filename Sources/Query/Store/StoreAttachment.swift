/// What a store tells of its changes, where its query is persisted. Always called under the store's
/// lock.
///
/// The base class does nothing: what can be persisted is known to ``PersistedAttachment`` alone.
// @unchecked: a subclass may have variables, which the store's lock guards.
@usableFromInline
class StoreAttachment<State: QueryStateProtocol>: @unchecked Sendable {
  @usableFromInline
  init() {}

  /// What the query is stored under; nil where it is not.
  var identity: QueryIdentity? { nil }

  /// The value, an error, or the invalidation of the state changed.
  @usableFromInline
  func stateDidChange(_ state: State, in context: QueryContext) {}

  /// The state went back to a fresh one.
  @usableFromInline
  func stateDidReset() {}

  /// Commits what an attempt is about, before the store shows it.
  ///
  /// - Parameters:
  ///   - context: The context of the attempt, with its arguments.
  ///   - isRetry: Whether it is the latest mutation of the history once more.
  /// - Returns: What was committed; nil where attempts are made without.
  @usableFromInline
  func admit(_ context: QueryContext, isRetry: Bool) async throws -> (any AdmittedAttempt)? {
    nil
  }

  /// Runs an action when the stored value is there, where that is still to come.
  ///
  /// - Returns: Whether it is still to come.
  func whenHydrated(_ action: @escaping @Sendable () -> Void) -> Bool { false }
}
