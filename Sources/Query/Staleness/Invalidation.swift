extension QueryStore {
  /// Makes the value stale from now on, whatever its age, until the next successful update.
  ///
  /// A store with subscribers that fetches by itself fetches at once. If the query is persisted,
  /// the invalidation survives a restart.
  public func invalidate() {
    let hasSubscribers = self.withLock {
      self._state.invalidate()
      self.storing?.stateDidChange(self._state, in: self._context)
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
