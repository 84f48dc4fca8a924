public import FoundationEssentials

extension QueryControls {
  /// The value of the store beneath the edits, with its metadata. nil if it has none.
  public var storedValue: StoredValue? {
    guard let store = self.livingStore else { return nil }
    return store.withLock {
      guard let value = store._state._fetchedValue, let date = store._state.valueLastUpdatedAt
      else { return nil }
      return StoredValue(
        metadata: store.tag.record?.metadata, updatedAt: date, base: value,
        number: store.tag.number)
    }
  }

  /// Sets a value that was made of the one at hand, with the metadata that belongs to it: both are written
  /// in one commit. An invalidation stays. A fetch that began before may bring a value that lacks what this one
  /// has: it is the controller's to set it again.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - metadata: What is to be found again with it, at most 4 KiB.
  ///   - known: What it was made of.
  /// - Returns: Whether it was set: not if the store has another value by now. Make it anew then.
  public func yield(
    _ value: State.StateValue, metadata: Data?, replacing known: StoredValue
  ) -> Bool {
    guard let store = self.livingStore else { return false }
    let note = ValueNote(isKept: false, metadata: .some(metadata), freshFor: nil)
    return store.take(value, ValueRecord.of(note.metadata ?? nil, freshFor: nil), replacing: known)
  }
}

extension QueryStore {
  fileprivate func take(
    _ value: State.StateValue, _ record: ValueRecord?, replacing known: StoredValue
  ) -> Bool {
    let replaced = self.withLock { () -> State.StateValue? in
      guard self.tag.number == known.number else { return nil }
      let (replaced, wasInvalidated) = (self._state.currentValue, self._state.isInvalidated)
      self._state.update(with: .success(value), using: self._context)
      if wasInvalidated { self._state.invalidate() }
      self.valueOrigin = .network
      self.tag.replace(record)
      self.overlay?.baseDidChange()
      self.persist(.changed)
      self.emit(.stateChanged, in: self._context)
      return replaced
    }
    // Its `deinit` may read the store.
    return withExtendedLifetime(replaced) { replaced != nil }
  }
}
