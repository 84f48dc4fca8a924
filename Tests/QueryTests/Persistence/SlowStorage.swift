import Query
import TestSupport

/// A storage that is busy: it reads nothing without waiting, and later at a gate.
final class SlowStorage: QueryStorage {
  /// What it reads from, and writes to.
  let base: MemoryQueryStorage
  /// What each late reading waits at.
  let gate: Gate
  private let answer: StorageReading?
  private let isWriting: Bool

  /// - Parameters:
  ///   - base: What it reads from.
  ///   - gate: The gate that each late reading waits at; nil: an open one.
  ///   - answer: What a late reading finds; nil: what the base has.
  ///   - isWriting: Whether changes are written; false: they wait for ever.
  init(
    _ base: MemoryQueryStorage, gate: Gate? = nil, answer: StorageReading? = nil,
    isWriting: Bool = true
  ) {
    self.base = base
    self.isWriting = isWriting
    self.gate = gate ?? Gate()
    self.answer = answer
    if gate == nil { self.gate.open() }
  }

  var slots: StorageSlots { self.base.slots }
  var events: StorageEvents { self.base.events }
  var statistics: StorageStatistics { self.base.statistics }
  var synchronousHydrationLimit: Int { self.base.synchronousHydrationLimit }
  var outbox: any MutationOutbox { self.base.outbox }
  var packs: any PackStorage { self.base.packs }

  func read(_ slot: StorageSlot) -> StorageReading { .later }

  func readLater(_ slot: StorageSlot) async -> StorageReading {
    await self.gate.passIgnoringCancellation()
    return self.answer ?? self.base.read(slot)
  }

  func didHydrate(_ slot: StorageSlot, from entry: StoredEntry?, _ miss: StorageMiss?) {
    self.base.didHydrate(slot, from: entry, miss)
  }

  func write(_ slot: StorageSlot) { if self.isWriting { self.base.write(slot) } }
  func invalidate(matching path: QueryPath) { self.base.invalidate(matching: path) }
  func prefetch(matching path: QueryPath) async throws {
    try await self.base.prefetch(matching: path)
  }
  func flush() async throws { try await self.base.flush() }
  func close() async throws { try await self.base.close() }
  func erase() async throws { try await self.base.erase() }
}
