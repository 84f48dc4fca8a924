import Foundation
import Query

/// What a process knows of one account in `cache.sqlite`: shared by all its storages of that account.
///
/// What is guarded, and by what: `guarded` by its own lock, under which nothing is called. It is
/// shared by those who create stores and the thread that writes.
final class CachePartition: Sendable {
  /// The name of the account.
  let name: String

  /// The queries that live, or have something to be written.
  let slots = StorageSlots()

  /// Who listens.
  let hub = StorageEventHub()

  /// The limits of the storage that came first.
  let limits: CacheLimits

  private let guarded = Locked(Guarded())

  private struct Guarded {
    /// The partition in the file that is open; nil while none is.
    var row: PartitionRow?
    var statistics = StorageStatistics()
    /// What was used since it was last written down, in order.
    var uses = [XXH128]()
    var prefetched = [QueryIdentity: StoredEntry]()
    var isErasing = false
    /// How many storages have it open.
    var holders = 0
  }

  init(name: String, limits: CacheLimits) {
    self.name = name
    self.limits = limits
  }
}

// MARK: - Storages

extension CachePartition {
  /// Counts a storage that has the partition open.
  func hold() { self.guarded.withLock { $0.holders += 1 } }

  /// Whether a storage has it open.
  var isHeld: Bool { self.guarded.withLock { $0.holders > 0 } }

  /// Counts a storage that is done with it.
  ///
  /// - Returns: Whether it was the last one.
  func letGo() -> Bool {
    self.guarded.withLock { partition in
      partition.holders -= 1
      return partition.holders == 0
    }
  }
}

// MARK: - The row

extension CachePartition {
  /// The partition's row as this process last saw it; nil while no file is open.
  var row: PartitionRow? {
    get { self.guarded.withLock { $0.row } }
    set {
      self.guarded.withLock { partition in
        partition.row = newValue
        guard let newValue else { return }
        partition.statistics.entries = Int(newValue.entryCount)
        partition.statistics.bytes = Int(newValue.byteCount)
      }
    }
  }

  /// Takes note of what a transaction of this process has come to.
  func didCommit(_ totals: CacheChanges.Totals) {
    self.guarded.withLock { partition in
      partition.row?.revision = totals.revision
      partition.row?.entryCount = Int64(totals.entries)
      partition.row?.byteCount = Int64(totals.bytes)
      partition.statistics.entries = totals.entries
      partition.statistics.bytes = totals.bytes
    }
  }

  /// Whether everything is being removed, so that nothing can be read now.
  var isErasing: Bool {
    get { self.guarded.withLock { $0.isErasing } }
    set { self.guarded.withLock { $0.isErasing = newValue } }
  }

  /// What can be said of an identity without waiting.
  func glance(at identity: QueryIdentity) -> (id: Int64?, prefetched: StoredEntry?) {
    self.guarded.withLock { partition in
      if partition.isErasing { return (nil, nil) }
      let entry =
        partition.prefetched.isEmpty ? nil : partition.prefetched.removeValue(forKey: identity)
      return (partition.row?.id, entry)
    }
  }
}

// MARK: - Counting

extension CachePartition {
  var statistics: StorageStatistics { self.guarded.withLock { $0.statistics } }

  func count(_ edit: (inout StorageStatistics) -> Void) {
    self.guarded.withLock { edit(&$0.statistics) }
  }

  /// Counts a store that was hydrated, and notes the use.
  func countHit(_ hash: XXH128) {
    self.guarded.withLock { partition in
      partition.statistics.hits += 1
      // More cannot be told apart by the next writing anyhow.
      if partition.uses.count < 200_000 { partition.uses.append(hash) }
    }
  }

  /// The uses since the last time, each entry once, the latest use last.
  func takeUses() -> [XXH128] {
    let uses = self.guarded.withLock { partition in
      defer { partition.uses = [] }
      return partition.uses
    }
    var seen = Set<XXH128>()
    return Array(uses.reversed().filter { seen.insert($0).inserted }.reversed())
  }

  var hasUses: Bool { self.guarded.withLock { !$0.uses.isEmpty } }
}

// MARK: - Prefetching

extension CachePartition {
  func keep(prefetched entries: [(QueryIdentity, StoredEntry)]) {
    self.guarded.withLock { partition in
      if partition.isErasing { return }
      for (identity, entry) in entries { partition.prefetched[identity] = entry }
    }
  }

  /// Forgets what was prefetched of an identity that is written now.
  func forgetPrefetched(_ identity: QueryIdentity) {
    self.guarded.withLock { partition in
      if !partition.prefetched.isEmpty { partition.prefetched[identity] = nil }
    }
  }

  func forgetPrefetched() { self.guarded.withLock { $0.prefetched = [:] } }
}
