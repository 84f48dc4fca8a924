/// What has become of a state.
@usableFromInline
enum StateChangeCause: Sendable {
  /// The value, an error, or the invalidation of the state changed.
  case changed
  /// The value was confirmed: only what is kept beside it changed.
  case confirmed
  /// Acknowledged edits were made in the value.
  case folded
  /// Nothing, but what was stored of the value is gone, with the file that had it.
  case lost
}

extension QueryStore {
  /// Has the storage write what has changed, if the query is persisted. The caller holds the lock.
  @inlinable
  func persist(_ cause: StateChangeCause) {
    guard let storing, let change = storing.change(cause, of: &self._state, self.tag) else {
      return
    }
    storing.handOver(change)
  }
}

/// What a store reports its changes to, if its query is persisted. Always called under the store's
/// lock.
///
/// The base class does nothing: only ``PersistedAttachment`` knows what can be persisted.
// @unchecked: a subclass may have variables, which the store's lock guards.
@usableFromInline
class StoreAttachment<State: QueryStateProtocol>: @unchecked Sendable {
  @usableFromInline
  init() {}

  /// The key that the query is stored under; nil if it is not stored.
  var identity: QueryIdentity? { nil }

  /// Whether changes of the state are written: not after an erasure, whatever the key.
  var isWritten: Bool { false }

  /// How much of the outbox's history the value has; nil: that is not known.
  @exclusivity(unchecked) @usableFromInline final var mark: ValueMark?

  /// Whether a stored value is about to take the place of the state's.
  @exclusivity(unchecked) final var isTakingOver = false

  /// When the value was last invalidated, and whether it is a newer one by now.
  @exclusivity(unchecked) final var lastInvalidation = LastInvalidation.none

  /// Whether a fetch has brought all of the value, or a storage, and nobody has set it by hand since.
  @exclusivity(unchecked) final var isFetched = true

  /// Up to when the state knows of invalidations, as ``StoredEntry/invalidationsKnownUntil``.
  @exclusivity(unchecked) final var invalidationsKnownUntil: BootInstant?

  /// Whether a change of the value is not on disk yet.
  var hasUnwrittenChange: Bool { false }

  /// Records that a fetch has brought all of the value.
  ///
  /// - Parameter beginning: When it began; nil: nobody knows.
  final func didFetch(since beginning: BootInstant?) {
    (self.isFetched, self.invalidationsKnownUntil) = (true, beginning)
  }

  /// Records that a fetch has brought a part of the value; the rest is as old as before.
  ///
  /// - Parameter beginning: When it began; nil: nobody knows.
  final func didFetchPart(since beginning: BootInstant?) {
    // What was set by hand, and is not written, would be lost with a part that is outdated.
    self.isFetched = self.isFetched || !self.hasUnwrittenChange
    if let known = self.invalidationsKnownUntil, let beginning {
      self.invalidationsKnownUntil = min(known, beginning)
    }
  }

  /// Records that the value was set by hand.
  @usableFromInline
  final func didSetByHand() { (self.isFetched, self.invalidationsKnownUntil) = (false, .now) }

  /// The newest end of a mutation that the storage knows; nil if the value is not stored in one.
  var endedSequence: Int64? { nil }

  /// Says what is to be written of a state that has changed. Changes nothing: a copy of a state costs more than
  /// what is read of it.
  ///
  /// - Returns: What is to be handed over to the storage once the state may be read again; nil if nothing is.
  @usableFromInline
  func change(
    _ cause: StateChangeCause, of state: inout State, _ tag: ValueTag
  ) -> StorageChange? {
    nil
  }

  /// Lets the storage write a change.
  @usableFromInline
  func handOver(_ change: StorageChange) {}

  /// Writes nothing any more if a newer release has written what is stored.
  ///
  /// - Parameters:
  ///   - version: The version of the stored value.
  ///   - store: The store of the state. The caller does not hold its lock.
  func stopWriting(beside version: Int, of store: QueryStore<State>) {}

  /// The state went back to a fresh one.
  @usableFromInline
  func stateDidReset() {}

  /// A fetch of the store has ended, or was dropped before it ran.
  @usableFromInline
  func fetchDidEnd() {}

  /// Commits the mutation of an attempt, before the store shows it.
  ///
  /// - Parameters:
  ///   - context: The context of the attempt, with its arguments.
  ///   - isRetry: Whether it repeats the latest mutation of the history.
  /// - Returns: What was committed; nil if attempts need no commit.
  @usableFromInline
  func admit(_ context: QueryContext, isRetry: Bool) async throws -> (any AdmittedAttempt)? {
    nil
  }

  /// What a request's setup declares otherwise than the request of the store; nil if nothing.
  ///
  /// - Parameter context: A context that the request has set up.
  func disagreement(with context: QueryContext) -> QueryWarning? { nil }

  /// Whether the stored value is still to come.
  var isHydrating: Bool { false }

  /// Runs an action once the stored value is there, if that is still to come.
  ///
  /// - Returns: Whether it is still to come.
  func whenHydrated(_ action: @escaping @Sendable () -> Void) -> Bool { false }
}
