extension QueryStore {
  /// Makes the value stale from now on, whatever its age, until a newer one comes: one that is set,
  /// or that a fetch brings which began after the invalidation.
  ///
  /// A store with subscribers that fetches by itself fetches at once; a fetch that is under way goes
  /// on, and its value is stale, too. If the query is persisted, the invalidation survives a restart.
  public func invalidate() {
    let hasSubscribers = self.withLock {
      if self.hasValueBehindInvalidation { self.valueStamp = self.invalidationStamp }
      self.invalidationStamp += 1
      self._state.invalidate()
      self.storing?.lastInvalidation = LastInvalidation(at: .now)
      self.persist(.changed)
      self.emit(.stateChanged, in: self._context)
      return self.subscribers > 0
    }
    if hasSubscribers { self.startAutomaticFetch() }
  }
}

extension OpaqueQueryStore {
  /// Makes the value stale from now on. See ``QueryStore/invalidate()``.
  public func invalidate() { self.erased.invalidate() }
}
