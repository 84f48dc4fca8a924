import Query

/// The partitions of a database that storages of this process have open, by name: storages of one
/// account share one.
///
/// Locking: it has its own lock, under which nothing is called.
final class OpenPartitions<Partition: Sendable>: Sendable {
  private struct Held {
    let partition: Partition
    /// How many storages have it open.
    var holders = 0
  }

  private let held = Locked([String: Held]())

  /// All partitions that are not forgotten.
  var all: [Partition] { self.held.withLock { $0.values.map(\.partition) } }

  /// The partition of a name, for one more storage. ``letGo(_:)`` ends its use.
  ///
  /// - Parameters:
  ///   - name: The name of the account.
  ///   - new: What it is if there is none yet.
  /// - Returns: The partition, and whether it is the new one.
  func hold(_ name: String, orAdd new: Partition) -> (partition: Partition, isNew: Bool) {
    self.held.withLock { held in
      var found = held[name] ?? Held(partition: new)
      found.holders += 1
      let old = held.updateValue(found, forKey: name)
      return (found.partition, old == nil)
    }
  }

  /// Ends the use of a partition by one storage. It stays until it is forgotten.
  ///
  /// - Returns: Whether no storage uses it any more.
  func letGo(_ name: String) -> Bool {
    self.held.withLock { held in
      held[name]?.holders -= 1
      return held[name]?.holders == 0
    }
  }

  /// Forgets a partition, unless a storage has it open.
  func forget(_ name: String) {
    self.held.withLock { held in
      if held[name]?.holders == 0 { held[name] = nil }
    }
  }
}
