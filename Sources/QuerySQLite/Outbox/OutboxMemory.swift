import FoundationEssentials
import Query

/// What a transaction keeps in memory of a partition, so that the next one need not read it: as
/// long as no other process has committed in between, the file still agrees.
///
/// Any of it may be missing, and is then read.
struct OutboxMemory {
  /// The partition's row.
  var partition: OutboxPartitionRow

  /// The newest number and sequence that any row of the file was given; nil: they are looked up.
  var newestNumber: Int64?
  var newestSequence: Int64?

  /// Whether the transaction changes other accounts too. They take numbers from the same counters, so the
  /// newest ones are looked up each time.
  var isBesideOthers = false {
    didSet { if self.isBesideOthers { (self.newestNumber, self.newestSequence) = (nil, nil) } }
  }

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

  /// The newest number and sequence of all partitions.
  private var newest: (number: Int64?, sequence: Int64?)

  /// Takes the memory of a partition, which ``keep(_:at:)`` gives back: its sets have no second holder
  /// meanwhile, which would make each change a copy.
  ///
  /// - Parameters:
  ///   - partition: The partition.
  ///   - version: The version that the transaction that has begun sees.
  ///   - isAlone: Whether the transaction changes no other partition so far.
  /// - Returns: nil, dropping all memories, if the file has changed since.
  mutating func recall(_ partition: String, at version: Int64?, isAlone: Bool) -> OutboxMemory? {
    if version == nil || version != self.version { self = OutboxMemories() }
    guard var memory = self.memories.removeValue(forKey: partition) else { return nil }
    if isAlone { (memory.newestNumber, memory.newestSequence) = self.newest }
    return memory
  }

  /// Keeps the memories of a transaction that saw the version of ``recall(_:at:isAlone:)``.
  ///
  /// - Parameter version: The version that its commit made.
  mutating func keep(_ changes: [PartitionChanges], at version: Int64?) {
    self.version = version
    self.newest = (nil, nil)
    for change in changes {
      var memory = change.changes.memory
      if changes.count == 1 { self.newest = (memory.newestNumber, memory.newestSequence) }
      (memory.newestNumber, memory.newestSequence) = (nil, nil)
      memory.isBesideOthers = false
      self.memories[change.partition.name] = memory
    }
  }
}

/// What one transaction does to a partition. By reference: it is large, and is looked at several times
/// after the commit.
final class PartitionChanges {
  let partition: OutboxPartition
  var changes: OutboxTransaction

  init(_ partition: OutboxPartition, _ changes: OutboxTransaction) {
    (self.partition, self.changes) = (partition, changes)
  }
}
