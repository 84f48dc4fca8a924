import FoundationEssentials
import Glibc
import Query
import QuerySQLite

/// A change in a store.
package enum InspectedChange: Hashable, Sendable {
  /// An entry was written, with this revision.
  case entry(partition: String, identity: String, hash: InspectedHash, revision: Int64)
  /// There are this many entries fewer than before.
  case removed(partition: String, count: Int)
  /// An account of the outbox was changed; it has this many mutations now.
  case outbox(partition: String, pending: Int, leased: Int, dead: Int, ended: Int)
  /// A file was made, replaced or removed.
  case file(name: String, isThere: Bool)
}

/// Watches the changes of a store, by reading what is newer than the known revisions.
///
/// ```swift
/// let changes = try store.changes()
/// while true { for change in try changes.next(waiting: .seconds(1)) { print(change) } }
/// ```
/// It learns of commits by the files that applications kick, and otherwise looks once a second.
/// Used by one thread at a time.
package final class StoreChanges {
  private let store: StoreInspection
  private let partition: String?
  private var watches = [ChangeWatch]()
  private var lookedAt = SuspendingClock.now
  private var known = [DatabaseKind: [String: Standing]]()
  private var isThere = [DatabaseKind: Bool]()

  /// The last known state of an account.
  private struct Standing {
    let id: Int64
    var revision: Int64
    /// Entries, or ended mutations.
    var count: Int64
  }

  init(_ store: StoreInspection, _ partition: String?) throws(InspectionError) {
    self.store = store
    self.partition = partition
    self.watches = self.makeWatches()
    _ = try self.look()
  }

  private func makeWatches() -> [ChangeWatch] {
    self.kicks.compactMap { ChangeWatch(kind: $0, folder: self.store.file($0).folder) }
  }

  /// The databases whose kick files exist. A watch would create a missing one, and nothing is
  /// created here.
  private var kicks: [DatabaseKind] {
    DatabaseKind.allCases.filter { kind in
      let path = ChangeKick.path(kind: kind, folder: self.store.file(kind).folder)
      return FileNumber(path: path) != nil
    }
  }

  /// Waits until something has changed, or for a time; at most a second.
  ///
  /// - Returns: The changes since the previous call, in order; empty: none.
  /// - Throws: `InspectionError`.
  package func next(waiting time: Duration) throws(InspectionError) -> [InspectedChange] {
    let milliseconds = Int32(clamping: Int(min(time, .seconds(1)) / .milliseconds(1)))
    var polls = self.watches.map {
      pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0)
    }
    _ = poll(&polls, nfds_t(polls.count), max(milliseconds, 0))
    let changes = self.watches.map { $0.drain() }
    let isTold = changes.contains { !$0.isEmpty }
    guard isTold || SuspendingClock.now - self.lookedAt >= .seconds(1) else { return [] }
    let hasEnded = changes.contains { $0.contains(.ended) }
    if hasEnded || self.watches.count < self.kicks.count { self.watches = self.makeWatches() }
    return try self.look()
  }

  private func look() throws(InspectionError) -> [InspectedChange] {
    var changes = [InspectedChange]()
    self.lookedAt = .now
    for kind in DatabaseKind.allCases {
      // No connection is held between two looks: an application that closes the store is then the
      // last one.
      defer { self.store.file(kind).close() }
      let isThere = try self.store.file(kind).exists
      if let before = self.isThere[kind], before != isThere {
        changes.append(.file(name: kind.fileName, isThere: isThere))
        // Everything in a new file is new.
        self.known[kind] = [:]
      }
      self.isThere[kind] = isThere
      if !isThere { continue }
      let known = self.known[kind]
      do {
        let seen = try self.store.file(kind).read { connection in
          kind == .cache
            ? try self.lookAtCache(known, on: connection)
            : try self.lookAtOutbox(known, on: connection)
        }
        self.known[kind] = seen.standings
        changes += seen.changes
      } catch .noStore {
        // The file was removed a moment ago; the next look reports it.
      }
    }
    return changes
  }
}

// MARK: - Looking

extension StoreChanges {
  private typealias Look = (standings: [String: Standing], changes: [InspectedChange])

  private func lookAtCache(
    _ known: [String: Standing]?, on connection: SQLiteConnection
  ) throws -> Look {
    var look: Look = ([:], [])
    for (id, name) in try StoreInspection.partitions(self.partition, on: connection) {
      let tables = CacheTables(partition: id, on: connection)
      let row = try tables.readPartition()
      look.standings[name] = Standing(id: id, revision: row.revision, count: row.entryCount)
      guard let known else { continue }
      // A replaced file, or an account that was created anew, has numbers of its own.
      let before = known[name].flatMap { $0.id == id && $0.revision <= row.revision ? $0 : nil }
      if before?.revision == row.revision { continue }
      let changed = try tables.changes(after: before?.revision ?? 0)
      for (identity, revision) in changed {
        let hash = InspectedHash(XXH128(hashing: identity.text))
        look.changes.append(
          .entry(partition: name, identity: identity.text, hash: hash, revision: revision))
      }
      let fewer = (before?.count ?? 0) - row.entryCount
      if fewer > 0 { look.changes.append(.removed(partition: name, count: Int(fewer))) }
    }
    return look
  }

  private func lookAtOutbox(
    _ known: [String: Standing]?, on connection: SQLiteConnection
  ) throws -> Look {
    var look: Look = ([:], [])
    for (id, name) in try StoreInspection.partitions(self.partition, on: connection) {
      let row = try connection.first(OutboxPartitionRow.read, name) {
        try OutboxPartitionRow($0)
      }
      guard let row else { continue }
      look.standings[name] = Standing(
        id: id, revision: row.revision, count: row.historyCount)
      guard let known, known[name]?.revision != row.revision else { continue }
      look.changes.append(
        .outbox(
          partition: name, pending: row.counts.pending, leased: row.counts.leased,
          dead: row.counts.dead, ended: Int(row.historyCount)))
    }
    return look
  }
}

extension StoreInspection {
  /// Begins to watch for changes.
  ///
  /// - Parameter partition: The account; nil: all.
  /// - Throws: `InspectionError`.
  package func changes(in partition: String? = nil) throws(InspectionError) -> StoreChanges {
    try self.require(partition: partition)
    return try StoreChanges(self, partition)
  }
}
