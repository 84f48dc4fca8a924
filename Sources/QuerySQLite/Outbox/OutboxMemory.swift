/// What a transaction leaves behind in memory of a partition, so that the next one need not read it: as
/// long as nobody else has committed in between, the file says the same.
///
/// All of it may be missing, and is read then.
struct OutboxMemory {
  /// The partition's row.
  var partition: OutboxPartitionRow

  /// The rows that this process runs and that are, on disk too, as they were leased.
  var leases = Set<Int64>()

  /// Whether no row depends on another one.
  var isFreeOfDependencies = false

  /// Whether no row waits for an alias.
  var isFreeOfAwaiting = false

  /// Whether nothing is published.
  var isFreeOfAliases = false

  /// How many rows the history has of the mutation that ended last.
  var historyCount: HistoryCount?

  /// The row of the history that was pruned last: none of the partition's is before it.
  var lastPruned: Int64 = 0

  struct HistoryCount {
    let name: String
    let instance: String
    var count: Int
  }

  init(partition: OutboxPartitionRow) { self.partition = partition }
}

/// What is remembered of a file, and of which state of it.
struct OutboxMemories {
  /// The version of the file's content that the memories are of.
  private var version: Int64?
  private var memories = [String: OutboxMemory]()

  /// What is remembered of a partition where the file has another version than that, nothing is.
  ///
  /// - Parameter version: The version that the transaction sees which has begun.
  mutating func recall(_ partition: String, at version: Int64?) -> OutboxMemory? {
    if version == nil || version != self.version { self = OutboxMemories() }
    return self.memories[partition]
  }

  /// Keeps what a transaction has left behind that saw the version of ``recall(_:at:)``.
  ///
  /// - Parameter version: The version that its commit has made.
  mutating func keep(_ changes: [(partition: String, memory: OutboxMemory)], at version: Int64?) {
    self.version = version
    for change in changes { self.memories[change.partition] = change.memory }
  }
}
