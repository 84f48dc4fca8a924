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

extension QueryStore {
  /// Takes note of an invalidation that was made elsewhere: a fetch that began before it is outdated, as after one
  /// of the store's own, and one that began after it is not. The caller holds the lock.
  func learn(of invalidation: LastInvalidation) {
    self.invalidationStamp += 1
    for fetch in self.fetches.all where fetch.beganAt.map(invalidation.isKnown) ?? false {
      fetch.invalidationStamp = self.invalidationStamp
    }
  }

  /// Whether a fetch of the whole value is under way that began after the last invalidation. The caller holds the
  /// lock.
  var isFetchingAnew: Bool {
    self.fetches.all.contains { fetch in
      fetch.hasStarted && fetch.invalidationStamp == self.invalidationStamp
        && fetch.task.map(fetch.bringsAll) ?? false
    }
  }
}

extension OpaqueQueryStore {
  /// Makes the value stale from now on. See ``QueryStore/invalidate()``.
  public func invalidate() { self.erased.invalidate() }
}
