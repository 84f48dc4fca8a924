import Foundation
import Query

// MARK: - Hydration

extension CacheDatabase {
  /// Reads an entry, if no waiting is needed for it.
  ///
  /// - Parameter limit: How many bytes an entry may have to be read at once.
  func read(
    _ identity: QueryIdentity,
    in partition: CachePartition,
    limit: Int
  ) -> StorageReading {
    let (id, prefetched) = partition.glance(at: identity)
    if let prefetched { return .entry(prefetched) }
    guard let id else { return .later }
    let inode = self.inode.withLock { $0 }
    do {
      let reading = try self.readers.tryRead { connection in
        // Waiting is for the late path.
        connection.busyHandler.patience = .limited(.zero)
        return try CacheTables(partition: id, on: connection).read(identity, limit: limit)
      }
      guard let reading else { return .later }
      return self.reading(reading, of: identity, in: partition, inode) ?? .later
    } catch {
      self.didFail(toRead: inode, error)
      return .later
    }
  }

  /// Reads an entry, and waits where that is needed.
  func readLater(
    _ identity: QueryIdentity,
    in partition: CachePartition
  ) async -> StorageReading {
    if partition.isErasing || partition.row == nil {
      // The thread that erases, or opens, comes to this after that.
      await withCheckedContinuation { continuation in
        if !self.run({ _ in continuation.resume() }) { continuation.resume() }
      }
    }
    guard let id = partition.row?.id else {
      return .miss(.failed(self.degradation ?? Self.closed))
    }
    let inode = self.inode.withLock { $0 }
    do {
      let reading = try await self.readPatiently { connection in
        try CacheTables(partition: id, on: connection).read(identity)
      }
      return self.reading(reading, of: identity, in: partition, inode) ?? .miss(.absent)
    } catch {
      self.didFail(toRead: inode, error)
      let failure = CacheWriter.storageError(error)
      // While there is no file, readers are told that all is closed.
      return .miss(.failed(failure.code == .misuse ? self.degradation ?? failure : failure))
    }
  }

  /// Reads for as long as others may keep the file locked. A connection is opened without much
  /// patience, since that may happen where a store is created.
  private func readPatiently<R: Sendable>(
    _ body: @escaping @Sendable (SQLiteConnection) throws -> R
  ) async throws -> R {
    let patience = self.configuration.busyTimeout
    let end = SuspendingClock.now + patience
    while true {
      do {
        return try await self.readers.read { connection in
          connection.busyHandler.patience = .limited(patience)
          return try body(connection)
        }
      } catch {
        let isBusy = StorageError(any: error, operation: "read").code == .busy
        guard isBusy, SuspendingClock.now < end else { throw error }
        try await Task.sleep(for: .milliseconds(10))
      }
    }
  }

  /// What an outcome means to a store; nil where it has to be asked for without a limit.
  private func reading(
    _ reading: CacheReading,
    of identity: QueryIdentity,
    in partition: CachePartition,
    _ inode: UInt64?
  ) -> StorageReading? {
    switch reading {
    case .entry(var entry, _, let revision):
      entry.revision = revision
      if self.isInvalidated(identity, in: partition) { entry.history.isInvalidated = true }
      return .entry(entry)
    case .absent: return .miss(.absent)
    case .collision: return .miss(.collision)
    case .large: return nil
    case .wrongChecksum(_, let revision):
      self.quarantine(identity, in: partition, inode, revision: revision, .wrongChecksum)
      return .miss(.wrongChecksum)
    }
  }

  /// Lets the writing thread look after a file that turned out to be damaged, or to be gone.
  ///
  /// - Parameters:
  ///   - inode: Which file was read. It may be replaced by now.
  ///   - error: What was wrong with it.
  private func didFail(toRead inode: UInt64?, _ error: any Error) {
    let failure = CacheWriter.storageError(error)
    if failure.isDamage {
      guard let inode else { return }
      self.run { $0.didFindDamage(failure, in: inode) }
    } else if failure.extendedCode == .moved || failure.code == .cannotOpen {
      self.run { $0.reopenWhereMoved() }
    }
  }

  static let closed = StorageError(
    operation: "read", code: .misuse, message: "the storage is closed",
    fileName: DatabaseKind.cache.fileName)
}

// MARK: - What became of it

extension CacheDatabase {
  func didHydrate(
    _ identity: QueryIdentity,
    in partition: CachePartition,
    from entry: StoredEntry?,
    _ miss: StorageMiss?
  ) {
    guard let miss else {
      partition.countHit(XXH128(hashing: identity.text))
      return
    }
    partition.count { $0.misses += 1 }
    partition.hub.send(.missed(identity, miss))
    // A wrong checksum was seen by the reading itself.
    if miss.isQuarantined, miss != .wrongChecksum, let entry {
      let inode = self.inode.withLock { $0 }
      self.quarantine(identity, in: partition, inode, revision: entry.revision, miss)
    }
  }

  private func quarantine(
    _ identity: QueryIdentity,
    in partition: CachePartition,
    _ inode: UInt64?,
    revision: Int64,
    _ miss: StorageMiss
  ) {
    guard let inode else { return }
    self.run { $0.quarantine(identity, in: partition, inode, revision: revision, miss) }
  }

  /// Marks what is under a path as invalidated, shortly.
  func invalidate(_ prefix: IdentityPrefix, in partition: CachePartition) {
    partition.forgetPrefetched()
    self.queue(Invalidation(prefix: prefix, partition: partition))
  }
}

// MARK: - Waiting for it

extension CacheDatabase {
  /// Returns when all that was handed over before is committed.
  func flush() async throws { try await self.perform { try $0.commitAll() } }

  /// Removes what a partition has.
  func erase(_ partition: CachePartition) async throws {
    // From here on no change of a store that lives now is written.
    partition.isErasing = true
    let slots = partition.slots.closeAll()
    defer {
      partition.slots.resetStores(of: slots)
      partition.isErasing = false
    }
    partition.forgetPrefetched()
    try await self.perform { try $0.erase(partition) }
  }

  /// Reads what is under a path into memory.
  func prefetch(_ prefix: IdentityPrefix, in partition: CachePartition) async throws {
    // What was handed over before is to be found.
    try await self.flush()
    guard let id = partition.row?.id else { throw self.degradation ?? Self.closed }
    partition.beginPrefetching()
    defer { partition.endPrefetching() }
    let entries = try await self.readPatiently { connection in
      var entries = [(QueryIdentity, StoredEntry)]()
      _ = try CacheTables(partition: id, on: connection).scan(
        prefix, upToBytes: CachePartition.maximumPrefetchedBytes
      ) {
        identity, entry, revision in
        var entry = entry
        entry.revision = revision
        entries.append((identity, entry))
      }
      return entries
    }
    partition.keep(prefetched: entries)
  }

  private func perform(_ body: @escaping @Sendable (CacheWriter) throws -> Void) async throws {
    let outcome = JobOutcome()
    let isTaken = self.run { writer in outcome.set(Result { try body(writer) }) }
    guard isTaken else { throw Self.closed }
    try await outcome.value()
  }
}

extension StorageError {
  /// An error of any kind as one of a storage.
  init(any error: any Error, operation: String) {
    self =
      error as? StorageError ?? (error as? OpeningFailure)?.error
      ?? StorageError(operation: operation, code: .error, message: "\(error)")
  }

  /// Whether the file is damaged, or no database: SQLite says so, or a statement finds other tables,
  /// other types or other rows than any release has made.
  var isDamage: Bool {
    switch self.code {
    case .corrupt, .notADatabase, .mismatch, .constraint: true
    case .error: self.operation == "prepare" || self.message.hasSuffix("already exists")
    default: false
    }
  }
}

extension StorageError.Code {
  /// `SQLITE_READONLY_DBMOVED`: another file is at the path.
  static let moved = Self(rawValue: 1_032)
}
