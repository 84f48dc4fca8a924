import FoundationEssentials
import Query

/// What a transaction keeps in memory of a partition, so that the next one need not read it: as
/// long as no other process has committed in between, the file still agrees.
///
/// Any of it may be missing, and is then read.
struct OutboxMemory {
  /// The partition's row.
  var partition: OutboxPartitionRow

  /// The rows that this process runs and that are, also on disk, as they were leased.
  var leases = Set<Int64>()

  /// Whether no row depends on another one.
  var isFreeOfDependencies = false

  /// Whether no row waits for an alias.
  var isFreeOfAwaiting = false

  /// Whether there are no aliases.
  var isFreeOfAliases = false

  /// How many history rows the mutation that ended last has.
  var historyCount: HistoryCount?

  /// The history row that was pruned last: the partition has none before it.
  var lastPruned: Int64 = 0

  struct HistoryCount {
    let name: String
    let instance: String
    var number: Int
    /// Until when the oldest one is too recent to be removed, microseconds since 1970.
    var isRecentUntil = Int64.min
  }

  /// When the first pending row grows too old.
  var expiry = Expiry.unknown

  enum Expiry {
    /// It must be looked up.
    case unknown
    /// No row does.
    case none
    /// By `CLOCK_BOOTTIME` of this boot, microseconds.
    case at(Int64)
  }

  init(partition: OutboxPartitionRow) {
    self.partition = partition
    if partition.counts.pending == 0 { self.expiry = .none }
  }
}

/// The memories of a file's partitions, and the version of the file that they belong to.
struct OutboxMemories {
  /// The version of the file's content.
  private var version: Int64?
  private var memories = [String: OutboxMemory]()

  /// Returns the memory of a partition; nil, dropping all memories, if the file has changed since.
  ///
  /// - Parameter version: The version that the transaction that has begun sees.
  mutating func recall(_ partition: String, at version: Int64?) -> OutboxMemory? {
    if version == nil || version != self.version { self = OutboxMemories() }
    return self.memories[partition]
  }

  /// Keeps the memories of a transaction that saw the version of ``recall(_:at:)``.
  ///
  /// - Parameter version: The version that its commit made.
  mutating func keep(_ changes: [(partition: String, memory: OutboxMemory)], at version: Int64?) {
    self.version = version
    for change in changes { self.memories[change.partition] = change.memory }
  }
}
