import FoundationEssentials
import Query

// What stores submit and read.

// MARK: - Writing

extension CacheDatabase {
  /// Adds a change. Never waits.
  func write(_ slot: StorageSlot, in partition: CachePartition) {
    partition.forgetPrefetched(slot.identity)
    let (isFirst, isDue) = self.guarded.withLock { database in
      if database.queue.isEmpty { database.firstQueuedAt = .now }
      database.queue.append(QueuedSlot(slot: slot, partition: partition))
      let count = database.queue.count
      // The thousandth fills a transaction.
      let isDue =
        count == CacheWriter.maximumBatch
        || count == database.backlogLimit && self.health.error != nil
      return (count == 1, isDue)
    }
    if isDue { return self.thread.wake() }
    if isFirst { self.thread.wake(by: .now + self.configuration.countingDelay) }
  }

  /// Puts changes that could not be written back, before later ones.
  func requeue(_ slots: [QueuedSlot]) {
    self.guarded.withLock { database in
      if database.queue.isEmpty, !slots.isEmpty { database.firstQueuedAt = .now }
      database.queue.insert(contentsOf: slots, at: 0)
    }
  }

  /// Takes the next changes to write.
  func takeQueued(atMost count: Int) -> [QueuedSlot] {
    self.guarded.withLock { database in
      var taken = [QueuedSlot]()
      if database.queue.count <= count {
        // Not copied: a thread that changes a store would wait for the lock.
        swap(&taken, &database.queue)
      } else {
        taken = Array(database.queue.prefix(count))
        database.queue.removeFirst(count)
      }
      // The remaining changes came meanwhile.
      database.firstQueuedAt = database.queue.isEmpty ? nil : .now
      return taken
    }
  }
}

// MARK: - Reading

extension CacheDatabase {
  /// Reads an entry, if that needs no waiting.
  ///
  /// - Parameter limit: The maximum size of an entry to be read at once.
  func read(
    _ identity: QueryIdentity,
    in partition: CachePartition,
    limit: Int
  ) -> StorageReading {
    let (id, prefetched) = partition.glance(at: identity)
    if let prefetched { return .entry(prefetched) }
    guard let id else { return .later }
    let file = self.fileNumber.withLock { $0 }
    let invalidations = self.doneInvalidations
    do {
      guard
        let reading = try self.readers.tryRead({ connection in
          // The asynchronous path waits instead.
          connection.busyHandler.patience = .limited(.zero)
          return try CacheTables(partition: id, on: connection).read(identity, limit: limit)
        })
      else { return .later }
      let result = self.reading(consume reading, of: identity, in: partition, file) ?? .later
      if self.doneInvalidations == invalidations { return consume result }
      return self.read(identity, in: partition, limit: limit)
    } catch {
      self.thread.check(file, after: StorageError(any: error, operation: "read"))
      return .later
    }
  }

  /// Reads an entry, waiting if necessary.
  func readLater(
    _ identity: QueryIdentity,
    in partition: CachePartition
  ) async -> StorageReading {
    await partition.untilErased()
    if partition.row == nil {
      // The writing thread reaches this task after it has opened the file.
      await withCheckedContinuation { continuation in
        if !self.thread.perform({ _ in continuation.resume() }) { continuation.resume() }
      }
    }
    guard let id = partition.row?.id else {
      return .miss(.failed(self.health.error ?? Self.closed))
    }
    let file = self.fileNumber.withLock { $0 }
    let invalidations = self.doneInvalidations
    do {
      let reading = try await self.readPatiently { connection in
        try CacheTables(partition: id, on: connection).read(identity)
      }
      let result = self.reading(reading, of: identity, in: partition, file) ?? .miss(.absent)
      if self.doneInvalidations == invalidations { return result }
      return await self.readLater(identity, in: partition)
    } catch {
      let failure = StorageError(any: error, operation: "read")
      self.thread.check(file, after: failure)
      // While there is no file, readers get the error that the storage is closed.
      return .miss(.failed(failure.code == .misuse ? self.health.error ?? failure : failure))
    }
  }

  /// A result as a store sees it; nil if it must be read without a limit.
  private func reading(
    _ reading: consuming CacheReading,
    of identity: QueryIdentity,
    in partition: CachePartition,
    _ file: FileNumber?
  ) -> StorageReading? {
    switch consume reading {
    case .entry(var entry):
      if let instant = self.invalidation(of: identity, in: partition) {
        entry.history.invalidatedAt = instant
        entry.history.isInvalidated = true
      }
      return .entry(consume entry)
    case .absent: return .miss(.absent)
    case .large: return nil
    case .wrongChecksum(let revision):
      self.quarantine(identity, in: partition, file, revision: revision, .wrongChecksum)
      return .miss(.wrongChecksum)
    }
  }
}

// MARK: - Results

extension CacheDatabase {
  func didHydrate(
    _ identity: QueryIdentity,
    in partition: CachePartition,
    from entry: StoredEntry?,
    _ miss: StorageMiss?
  ) {
    guard let miss else {
      partition.countHit(identity)
      return
    }
    partition.count { $0.misses += 1 }
    partition.hub.send(.missed(identity, miss))
    // The read itself has reported a wrong checksum.
    if miss.isQuarantined, miss != .wrongChecksum, let entry {
      let file = self.fileNumber.withLock { $0 }
      self.quarantine(identity, in: partition, file, revision: entry.revision, miss)
    }
  }

  private func quarantine(
    _ identity: QueryIdentity,
    in partition: CachePartition,
    _ file: FileNumber?,
    revision: Int64,
    _ miss: StorageMiss
  ) {
    guard let file else { return }
    self.thread.perform {
      $0.quarantine(identity, in: partition, file, revision: revision, miss)
    }
  }
}
