import CProbes
import Dispatch
import FoundationEssentials
import Query

// MARK: - Committing

extension CacheWriter {
  /// A change, taken from its slot and coded. An object, so that iterating over a list of them does
  /// not count references to everything in them.
  private final class CodedChange {
    let queued: QueuedSlot
    /// The change, if it writes something.
    let write: StorageWrite?
    let content: Content

    enum Content {
      case entry(PreparedEntry)
      /// What to write instead, if the value is known to be stored.
      case confirmation(PreparedConfirmation)
      /// With the newest version of the value that is removed.
      case removal(upToVersion: Int)
    }

    init(_ queued: QueuedSlot, _ write: StorageWrite? = nil, _ content: Content) {
      self.queued = queued
      self.write = write
      self.content = content
    }
  }

  /// The maximum number of changes that a caller commits on its own thread.
  private static let callerBatch = 100

  /// Commits everything that waits on the thread of a caller, if that takes no longer than a short
  /// transaction.
  ///
  /// - Returns: Whether it is committed; if not, it still waits.
  func tryCommit() -> Bool {
    guard self.callersFailure == nil, self.database.queuedCount <= Self.callerBatch,
      self.database.firstInvalidation == nil
    else { return false }
    return self.commitForCaller { connection in
      let patience = connection.busyHandler.patience
      connection.busyHandler.patience = Self.callersPatience
      defer { connection.busyHandler.patience = patience }
      do {
        try self.commitQueued()
        return true
      } catch {
        // The writing thread has more patience.
        let error = StorageError(any: error, operation: "write")
        if error.code != .busy { self.callersFailure = error }
        return false
      }
    }
  }

  /// Writes everything that waits while a caller waits for it. If it is little, a checkpoint that is due
  /// then comes after the caller has gone on.
  ///
  /// - Throws: `StorageError` if it cannot be written now; then it waits again.
  func commitAllForCaller() throws {
    try self.commitAll(leavesCheckpoint: self.database.queuedCount <= Self.callerBatch)
  }

  /// Writes everything that waits.
  ///
  /// - Parameter leavesCheckpoint: Whether the first checkpoint that is due is left to what follows.
  /// - Throws: `StorageError` if it cannot be written now; then it waits again.
  func commitAll(leavesCheckpoint: Bool = false) throws {
    let wasDegraded = self.database.health.isRetryPending
    do {
      try self.commitOnce(leavesCheckpoint: leavesCheckpoint)
    } catch {
      let failure = StorageError(any: error, operation: "write")
      guard failure.isDamage, self.connection != nil else { throw failure }
      // The damaged file has been replaced by now: what waits goes into the new one.
      try self.commitIntoNewFile()
    }
    // There may have been nothing to write, which proves nothing.
    if wasDegraded { self.confirmRecovery() }
  }

  private func commitIntoNewFile() throws {
    do {
      try self.commitOnce()
    } catch {
      let failure = StorageError(any: error, operation: "write")
      // If the new file is no better, the writer does not go on replacing files.
      if failure.isDamage { self.degrade(failure) }
      throw failure
    }
  }

  private func commitOnce(leavesCheckpoint: Bool = false) throws {
    do {
      // Before anything is written: if the file is damaged, it is about to be replaced.
      if let failure = self.callersFailure {
        self.callersFailure = nil
        throw failure
      }
      self.log.leavesCheckpoints = leavesCheckpoint
      defer { self.log.leavesCheckpoints = false }
      try self.commitQueued()
    } catch {
      try self.commitInSmallerSteps(after: error)
    }
  }

  /// Writes what waits on a full disk, where a commit has only the room that the WAL has already: what a
  /// checkpoint copies makes room in it, and for a commit that is longer than all of it, as one of many
  /// removals, a part of its changes alone.
  ///
  /// - Throws: The error if the disk is not full, and `StorageError` if not even one change has room.
  private func commitInSmallerSteps(after error: any Error) throws {
    defer { self.changesInStep = Self.maximumBatch }
    var error = error
    while true {
      if !self.makesRoom(after: error) {
        let count = min(self.changesInStep, self.database.queuedCount)
        guard self.isFull(error), count > 1 else { throw self.noteFailure(error) }
        self.changesInStep = max(1, count / 8)
      }
      do { return try self.commitQueued() } catch let next { error = next }
    }
  }

  private func noteFailure(_ error: any Error) -> StorageError {
    self.didFail(error)
    self.trimBacklog()
    return StorageError(any: error, operation: "write")
  }

  private func commitQueued() throws {
    // Changes that arrive meanwhile have a delay of their own: there may be no end of them.
    var left = self.database.queuedCount
    try self.writeInvalidations()
    var next = self.takeQueued(&left)
    var nextPrepared = self.prepareAhead(next)
    while !next.isEmpty {
      var rest = next[...]
      let prepared = nextPrepared
      next = self.takeQueued(&left)
      nextPrepared = self.prepareAhead(next)
      while let partition = rest.first?.partition {
        let changes = self.takeBatch(of: partition, from: &rest, prepared)
        do {
          // After the changes were taken: a change that came after an invalidation must not be
          // marked.
          try self.writeInvalidations()
          try self.commit(changes, in: partition)
        } catch {
          let again = changes.map(\.queued).filter { $0.slot.putBack() }
          self.database.requeue(again + rest + next)
          throw error
        }
        self.release(changes)
      }
    }
  }

  /// Takes the next changes of those that are to be written.
  private func takeQueued(_ left: inout Int) -> [QueuedSlot] {
    if left <= 0 { return [] }
    let queued = self.database.takeQueued(atMost: min(left, Self.maximumBatch))
    left -= queued.count
    return queued
  }

  /// Takes and codes what one transaction writes: changes of one partition, and not too much of
  /// them.
  ///
  /// - Parameters:
  ///   - queued: The queue to take them from, with at least one change.
  ///   - prepared: What another thread has made of the whole queue.
  private func takeBatch(
    of partition: CachePartition,
    from queued: inout ArraySlice<QueuedSlot>,
    _ prepared: PreparedBatch?
  ) -> [CodedChange] {
    var changes = [CodedChange]()
    changes.reserveCapacity(queued.count)
    var bytes = 0
    while bytes < Self.maximumBatchBytes, let next = queued.first, next.partition === partition {
      let index = queued.startIndex
      queued.removeFirst()
      guard let change = self.take(next, prepared, at: index) else { continue }
      if case .entry(let entry) = change.content { bytes += entry.contentSize }
      changes.append(change)
    }
    return changes
  }

  /// From how many changes on a second thread is worth its waking.
  private static let manyChanges = maximumBatch / 10

  /// Prepares the next changes while this thread writes, if they are many.
  private func prepareAhead(_ queued: [QueuedSlot]) -> PreparedBatch? {
    if queued.count < Self.manyChanges { return nil }
    let batch = PreparedBatch(
      of: queued, maximumValueBytes: self.configuration.maximumValueBytes)
    self.coding.async { batch.prepare() }
    return batch
  }

  /// Releases what was written beside this thread, which goes on writing, if it is much.
  private func release(_ changes: consuming [CodedChange]) {
    if changes.count < Self.manyChanges { return }
    // Nobody else has them.
    nonisolated(unsafe) let changes = changes
    self.coding.async { withExtendedLifetime(changes) {} }
  }

  /// Takes and codes a change.
  ///
  /// - Returns: nil if there is nothing to write.
  private func take(
    _ queued: QueuedSlot, _ prepared: PreparedBatch?, at index: Int
  ) -> CodedChange? {
    guard let change = queued.slot.takeChange() else { return nil }
    guard case .write(let write) = change else {
      return CodedChange(queued, nil, .removal(upToVersion: queued.slot.removedVersion))
    }
    if let confirmation = write.confirmation {
      let content = PreparedConfirmation(confirmation, identity: queued.slot.identity)
      if let content { return CodedChange(queued, write, .confirmation(content)) }
    }
    if let entry = prepared?.take(write, at: index) {
      return CodedChange(queued, write, .entry(entry))
    }
    return self.code(write, of: queued)
  }

  private func code(_ write: StorageWrite, of queued: QueuedSlot) -> CodedChange? {
    let identity = queued.slot.identity
    do {
      let entry = try write.entry()
      if entry.contentSize <= self.configuration.maximumValueBytes {
        return CodedChange(
          queued, write,
          .entry(PreparedEntry(entry, identity: identity, in: write.basis)))
      }
      PersistenceWarnings.reportOnce(
        .valueTooLarge(
          identity: identity, bytes: entry.contentSize,
          limit: self.configuration.maximumValueBytes),
        for: "too large: \(identity)")
    } catch {
      PersistenceWarnings.reportOnce(
        .valueNotEncoded(identity: identity, error: error), for: "not encoded: \(identity)")
    }
    queued.slot.didWrite()
    return nil
  }

  /// Writes changes of one partition, as many in each transaction as it has the time for.
  private func commit(_ changes: [CodedChange], in partition: CachePartition) throws {
    var rest = changes[...]
    while !rest.isEmpty {
      let before = partition.row?.totals
      guard let step = try self.commitStep(rest, in: partition) else { return }
      rest = rest.dropFirst(step.count)
      let after = partition.row?.totals
      let growth = before.flatMap { before in after?.growth(since: before) }
      self.didGrow(by: growth ?? 0, in: partition)
      for slot in step.outdated { self.passOn(slot, in: partition) }
      for (slot, version) in step.ofOlderRelease { slot.stopWriting(beside: version) }
      // Coded outside of the transaction, and so not by the time of others.
      let whole = step.unconfirmed.compactMap { change in
        change.write.flatMap { self.code($0, of: change.queued) }
      }
      if !whole.isEmpty { try self.commit(whole, in: partition) }
      if !rest.isEmpty { self.connection?.letOthersWrite() }
    }
  }

  /// The maximum number of changes in a transaction, so that the checkpoint of their pages is short on this
  /// disk.
  static func batch(on connection: SQLiteConnection) -> Int {
    connection.share(of: Self.maximumBatch)
  }

  /// What one transaction has written.
  private struct CommittedStep {
    /// How many changes.
    let count: Int
    /// Those of them whose value is not the stored one any more, which are not written yet.
    let unconfirmed: [CodedChange]
    /// The slots whose stored value another process has replaced, which stays, or has invalidated.
    let outdated: [StorageSlot]
    /// The slots whose stored value a newer release has written, with its version. It stays.
    let ofOlderRelease: [(slot: StorageSlot, version: Int)]
  }

  /// Writes the first changes in one transaction.
  ///
  /// - Returns: nil if the partition was erased, and none of them is written.
  private func commitStep(
    _ changes: ArraySlice<CodedChange>, in partition: CachePartition
  ) throws -> CommittedStep? {
    let connection = try self.usableConnection()
    let known = try self.row(of: partition, connection)
    var count = 0
    var unconfirmed = [CodedChange]()
    var outdated = [StorageSlot]()
    var (stale, unwritten) = ([StorageSlot](), [CodedChange]())
    var ofOlderRelease = [(slot: StorageSlot, version: Int)]()
    var ignored = 0
    let isWritten = try self.write(in: partition, connection) { tables in
      // Another process has erased it: nothing that was known before is written.
      guard tables.epoch == known.epoch else { return false }
      let budget = StepBudget(
        rows: min(self.changesInStep, Self.batch(on: connection)), time: StepBudget.callersTime)
      for change in changes {
        if budget.isSpent(after: count) { break }
        count += 1
        switch change.content {
        case .entry(let entry):
          switch try tables.write(entry) {
          case .inserted, .updated, .unchanged:
            if entry.hasKeptInvalidation { stale.append(change.queued.slot) }
          case .otherKept:
            outdated.append(change.queued.slot)
            unwritten.append(change)
          case .ignored:
            ignored += 1
            unwritten.append(change)
          case .newerKept(let version):
            ofOlderRelease.append((change.queued.slot, version))
            unwritten.append(change)
          }
        case .confirmation(let confirmation):
          switch try tables.confirm(confirmation) {
          case .written: if confirmation.hasKeptInvalidation { stale.append(change.queued.slot) }
          case .otherKept: outdated.append(change.queued.slot)
          case .ignored: ignored += 1
          case .refused: unconfirmed.append(change)
          case .newerKept(let version):
            ofOlderRelease.append((change.queued.slot, version))
          }
        case .removal(let newestVersion):
          let removal = try tables.remove(
            change.queued.slot.identity, upToVersion: Int64(newestVersion))
          if case .newerKept(let version) = removal {
            ofOlderRelease.append((change.queued.slot, version))
          }
        }
      }
      return true
    }
    guard isWritten else {
      for change in changes { change.queued.slot.didWrite() }
      if partition.row?.epoch == known.epoch { self.didFindErased(partition) }
      return nil
    }
    let written =
      count - unconfirmed.count - outdated.count - ignored - ofOlderRelease.count
    for change in changes.prefix(count) where !unconfirmed.contains(where: { $0 === change }) {
      if case .entry(let entry) = change.content, let mark = entry.mark,
        !unwritten.contains(where: { $0 === change })
      {
        change.write?.didStore(mark)
      }
      change.queued.slot.didWrite()
    }
    partition.count { $0.writes += written }
    if written > 0 { partition.hub.send(.committed(entries: written)) }
    return CommittedStep(
      count: count, unconfirmed: unconfirmed, outdated: outdated + stale,
      ofOlderRelease: ofOlderRelease)
  }

  /// Runs a transaction on a partition, and counts it.
  ///
  /// - Parameter body: Changes the tables; returns whether there was anything to change.
  /// - Returns: What the body returned.
  @discardableResult
  func write(
    in partition: CachePartition,
    _ connection: SQLiteConnection,
    _ body: (inout CacheChanges) throws -> Bool
  ) throws -> Bool {
    let row = try self.row(of: partition, connection)
    let pages = try connection.writtenPages
    var (before, number, hasLostMembers) = (Int64(0), row.id, false)
    self.neighbours.willCommit()
    let newRow = try connection.write { () throws -> PartitionRow? in
      var changes = try self.begin(partition, connection)
      (before, number) = (changes.totals.revision, changes.partition)
      let isWanted = try body(&changes)
      hasLostMembers = changes.hasLostMembers
      return isWanted ? try changes.finish() : nil
    }
    defer { if number != row.id { self.didFindErased(partition) } }
    guard let newRow else { return false }
    self.lastRow = (try? connection.contentVersion).map { (partition.name, newRow, $0) }
    let totals = newRow.totals
    let written = try connection.writtenPages - pages
    if totals.revision > before {
      self.noteOwnRevisions((before + 1)...totals.revision, in: partition)
    }
    probe_cache_commit(totals.revision - before, Int64(written * SQLiteConnection.frameBytes))
    partition.didCommit(totals)
    if hasLostMembers { partition.tellOfPacks() }
    partition.count {
      $0.commits += 1
      $0.bytesWritten += written * SQLiteConnection.frameBytes
    }
    self.hasWritten = true
    // Other processes are told after the callers that wait here.
    self.neighbours.hasCommitted = true
    self.didCommit(connection)
    return true
  }

  /// Begins to change a partition, without reading its row again if nobody else has committed since.
  private func begin(
    _ partition: CachePartition, _ connection: SQLiteConnection
  ) throws -> CacheChanges {
    if let last = self.lastRow, last.name == partition.name,
      last.version == (try connection.contentVersion)
    {
      let tables = CacheTables(partition: last.row.id, named: last.name, on: connection)
      return CacheChanges(tables, last.row)
    }
    return try CacheTables.current(named: partition.name, on: connection).begin()
  }

  /// Notes that another process has erased the partition: its stores here write nothing until they
  /// are created anew.
  func didFindErased(_ partition: CachePartition) {
    _ = partition.slots.closeAll()
    partition.forgetPrefetched()
    self.prepare([partition], finishesErasing: false)
  }
}

// MARK: - Single entries

extension CacheWriter {
  /// Quarantines an entry that could not be read, if it is still the one that was read, in the same
  /// file: another file may have given its number to a sound entry.
  func quarantine(
    _ identity: QueryIdentity,
    in partition: CachePartition,
    _ file: FileNumber,
    revision: Int64,
    _ miss: StorageMiss
  ) {
    do {
      let connection = try self.usableConnection()
      guard self.database.fileNumber.withLock({ $0 }) == file else { return }
      var isMoved = false
      try self.write(in: partition, connection) { tables in
        isMoved = try tables.quarantine(identity, revision: revision, miss, now: Date())
        return isMoved
      }
      guard isMoved else { return }
      partition.count { $0.quarantined += 1 }
      if miss == .wrongChecksum, let slot = partition.slots.existingSlot(for: identity) {
        self.database.handOverAgain(slot)
      }
      partition.hub.send(.quarantined(identity, miss))
    } catch {
      // The entry stays in its place, and is found again.
      self.didFail(error)
    }
  }

  /// Marks invalidated entries, before the changes that came since are written.
  private func writeInvalidations() throws {
    while let invalidation = self.database.firstInvalidation {
      let connection = try self.usableConnection()
      let time = invalidation.instant.microsecondsSinceBoot
      var next = IdentityCursor?.some(IdentityCursor(invalidation.prefix))
      while let cursor = next {
        try self.write(in: invalidation.partition, connection) { changes in
          // Callers wait for all of it, and what is marked together lies together.
          let budget = StepBudget(
            rows: min(4 * self.configuration.stepRows, Self.batch(on: connection)),
            time: StepBudget.callersTime)
          let step = try changes.invalidate(from: cursor, at: time, budget)
          next = step.next
          return step.marked > 0
        }
        if next != nil { connection.letOthersWrite() }
      }
      self.database.remove(invalidation)
    }
  }
}
