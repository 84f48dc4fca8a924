/// Takes the place of a ``PersistedAttachment`` after the storage was erased: no later value of the
/// store is written, and the first one is reported.
final class ErasedAttachment<State: QueryStateProtocol>: StoreAttachment<State>,
  // @unchecked: the variable is guarded by the store's lock.
  @unchecked Sendable
{
  private let erased: QueryIdentity
  private var isToldOf = false

  init(identity: QueryIdentity) { self.erased = identity }

  override var identity: QueryIdentity? { self.erased }

  override func change(
    _ cause: StateChangeCause, of state: inout State, _ tag: ValueTag
  ) -> StorageChange? {
    if !self.isToldOf, state.valueUpdateCount > 0, cause != .lost {
      self.isToldOf = true
      PersistenceWarnings.reportUnwritten(self.erased)
    }
    return nil
  }
}

extension PersistenceWarnings {
  /// Reports, once for a query, that its store was made before an erasure. Called under the store's
  /// lock, so it is said after that.
  static func reportUnwritten(_ identity: QueryIdentity) {
    Task {
      self.reportOnce(
        .storeNotWrittenAfterErasing(identity: identity), for: "erased: \(identity)")
    }
  }
}
