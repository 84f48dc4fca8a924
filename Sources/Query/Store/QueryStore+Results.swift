// What a store does with the result of a fetch.

extension QueryStore {
  /// Whether a value has come that is newer than the last invalidation. The caller holds the lock.
  @usableFromInline
  var hasValueBehindInvalidation: Bool {
    if self._state.isInvalidated { return false }
    // A state that cannot be invalidated tells nothing.
    var state = self._state
    state.invalidate()
    return state.isInvalidated
  }

  /// Lets the state take a result of a fetch that began before the last invalidation. Its value may be
  /// from before that as well, so it does not end it. The caller holds the lock.
  @usableFromInline
  func takeOutdated(
    _ result: Result<State.QueryValue, any Error>,
    for task: QueryTask<State.QueryValue>, stamp: Int?
  ) {
    self.changeOutdated(stamp: stamp) { $0.update(with: result, for: task) }
  }

  func changeOutdated(stamp: Int?, _ change: (inout State) -> Void) {
    let (updateCount, wasInvalidated) = (self._state.valueUpdateCount, self._state.isInvalidated)
    change(&self._state)
    guard self._state.valueUpdateCount != updateCount else { return }
    if let stamp { self.valueStamp = max(stamp, self.valueStamp) }
    self._state.invalidate()
    // A newer value had come already, so that no other fetch is to be expected.
    guard !wasInvalidated, self._state.isInvalidated, self.subscribers > 0 else { return }
    self.aftermath.actions.append { [weak self] in self?.startAutomaticFetch() }
  }

  /// Records a result of a fetch that the state has taken. The caller holds the lock.
  ///
  /// - Parameter isStored: Whether it is stored; the beginning of a list would take the place of the whole.
  @inlinable
  func didReceive(
    _ result: Result<State.QueryValue, any Error>, _ record: ValueRecord?, of work: FetchWork,
    isFinal: Bool, isStored: Bool = true, in context: QueryContext
  ) {
    if case .success = result {
      self.valueOrigin = .network
      self.tag.replace(record)
      if self.overlay != nil || self.storing != nil {
        self.mark(by: work, isFinal: isFinal, isStored: isStored, in: context)
      }
    }
    if isStored { self.persist(.changed) }
  }

  /// Defers an action if this thread already holds the lock.
  ///
  /// - Returns: Whether it did.
  @usableFromInline
  func isDeferred(_ action: @escaping @Sendable () -> Void) -> Bool {
    // If another thread has the lock, this one does not.
    guard self.lock.tryLock() else { return false }
    defer { self.lock.unlock() }
    guard self.lockDepth > 0 else { return false }
    self.aftermath.actions.append(action)
    return true
  }
}
