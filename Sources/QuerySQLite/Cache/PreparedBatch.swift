import Query

/// Changes that a second thread codes, hashes and lays out as rows, ahead of the writing thread that takes
/// them. A change that is not prepared by then, or was replaced, the writing thread prepares itself.
final class PreparedBatch: Sendable {
  /// A write, and what was made of it. It is of use as long as that write waits.
  // @unchecked: one thread makes the entry, and another takes it out.
  private struct Prepared: @unchecked Sendable {
    let write: StorageWrite
    let entry: PreparedEntry
  }

  private let queued: [QueuedSlot]
  /// By their place in the batch.
  private let prepared: Locked<[Prepared?]>
  private let maximumValueBytes: Int

  /// How many are handed over at a time.
  private static let handOver = 16

  init(of queued: [QueuedSlot], maximumValueBytes: Int) {
    self.queued = queued
    self.prepared = Locked(Array(repeating: nil, count: queued.count))
    self.maximumValueBytes = maximumValueBytes
  }

  /// Prepares the changes, the last one first: the writing thread may be at the beginning.
  func prepare() {
    var end = self.queued.count
    while end > 0 {
      let range = max(end - Self.handOver, 0)..<end
      let prepared = range.map { self.prepare(self.queued[$0].slot) }
      self.prepared.withLock { $0.replaceSubrange(range, with: prepared) }
      end = range.lowerBound
    }
  }

  private func prepare(_ slot: StorageSlot) -> Prepared? {
    guard let write = slot.waitingWrite, write.confirmation == nil,
      let entry = try? write.entry(), entry.contentSize <= self.maximumValueBytes,
      // What the stored value has to be is known when the write is taken.
      write.basis == nil
    else { return nil }
    return Prepared(write: write, entry: PreparedEntry(entry, identity: slot.identity))
  }

  /// Takes what was made of a write.
  ///
  /// - Parameters:
  ///   - write: The write, which is not one that suffices as a confirmation.
  ///   - index: The place of its slot in the batch.
  func take(_ write: StorageWrite, at index: Int) -> PreparedEntry? {
    let prepared = self.prepared.withLock { batch in
      defer { batch[index] = nil }
      return batch[index]
    }
    return prepared?.write === write ? prepared?.entry : nil
  }
}
