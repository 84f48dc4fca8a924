import Query

// MARK: - What waits while nothing can be written

extension CacheWriter {
  /// Writes everything that waits, unless that has failed and is about to be retried: each of many who want
  /// it would wait as long for a lock that another process keeps.
  ///
  /// - Returns: Whether it is written.
  func commitUnlessRetrying() -> Bool {
    if let due = self.health.due, .now < due { return false }
    return (try? self.commitAllForCaller()) != nil
  }

  /// Drops the values that have waited longest, those of stores that are gone first, if more bytes wait
  /// than the limit allows. A change without bytes stays, as a removal or an invalidation: it makes no
  /// room, and without it the next launch would show what is gone, or what is stale as if it were not.
  func trimBacklog() {
    let queued = self.database.takeQueued(atMost: .max)
    var bytes = 0
    var dropped = Set<Int>()
    // The newest changes are dropped last, and those of living stores after all others.
    for isAlive in [true, false] {
      for (index, waiting) in queued.enumerated().reversed()
      where waiting.slot.isAlive == isAlive {
        let ownBytes = waiting.slot.waitingBytes
        bytes += ownBytes
        if ownBytes == 0 || bytes <= self.configuration.maximumBacklogBytes { continue }
        guard let write = waiting.slot.dropWrite() else { continue }
        dropped.insert(index)
        // What is stored instead is older than the value that was invalidated.
        guard let instant = write.invalidatedAt else { continue }
        self.database.add(
          Invalidation(
            prefix: IdentityPrefix(only: waiting.slot.identity), partition: waiting.partition,
            at: instant))
      }
    }
    self.database.requeue(
      queued.enumerated().filter { !dropped.contains($0.offset) }.map(\.element))
    self.database.didTrimBacklog()
  }
}
