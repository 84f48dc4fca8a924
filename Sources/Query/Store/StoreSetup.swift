import Synchronization

// Modifiers and fetches keep notes in a context that are about one store: how many retry layers its
// request has, whether one of them is already at work, what shares its fetches, how it is persisted, how
// many pages or attempts it keeps. But a context travels: it becomes the initial context of another store,
// the context of another store's fetch, or another store's own. There those notes would be wrong: retries
// or deduplication would silently be off, and loaded pages dropped. So each store has a number, and if a
// context has the number of another store, the store uses its own notes instead.

extension QueryStore {
  /// Prepares a context for the setup of a new store of this type.
  @usableFromInline
  static func beginSetup(of context: inout QueryContext) {
    self.dropNotes(in: &context)
    context.setupNumber = lastSetupNumber.wrappingAdd(1, ordering: .relaxed).newValue
  }

  /// Removes the notes about a store from a context.
  static func dropNotes(in context: inout QueryContext) {
    if context.setupNumber == 0 { return }
    self.replaceNotes(in: &context, by: QueryContext())
    context.setupNumber = 0
  }

  /// Whether the notes in a context are about another store.
  @inlinable
  func isOfAnotherStore(_ context: QueryContext) -> Bool {
    let number = context.setupNumber
    return number != self.setupNumber && number != 0
  }

  /// Replaces the notes in another store's context by the notes of this one.
  @usableFromInline
  func adopt(_ context: inout QueryContext) {
    let own = self.withLock { self._context }
    Self.replaceNotes(in: &context, by: own)
    context.setupNumber = self.setupNumber
  }

  private static func replaceNotes(in context: inout QueryContext, by own: QueryContext) {
    context.takeRetryLayers(of: own)
    context.copy(QueryContext.DeduplicationKey<State.QueryValue>.self, of: own)
    context.copy(QueryContext.PersistencePlanKey.self, of: own)
    context.copy(QueryContext.MutationPlanKey.self, of: own)
    context.copy(QueryContext.OptimisticEditsKey.self, of: own)
    context.copy(QueryContext.AdmittedAttemptKey.self, of: own)
    context.copy(QueryContext.MaxPagesKey.self, of: own)
    context.copy(QueryContext.MaxMutationHistoryLengthKey.self, of: own)
    context.removeMutationArguments(of: State.self)
  }
}

private let lastSetupNumber = Atomic(0)

extension QueryContext {
  fileprivate mutating func copy<K: Key>(_ key: K.Type, of other: QueryContext) {
    if self.contains(key) || other.contains(key) { self[key] = other[key] }
  }
}
