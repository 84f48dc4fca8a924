public import Query

/// A storage in memory with a scripted outbox, and other packs if a test wants them.
public struct ScriptedStorage: QueryStorage {
  public let scripted: ScriptedOutbox
  public let packs: any PackStorage
  private let base: MemoryQueryStorage

  /// - Parameters:
  ///   - base: What holds everything.
  ///   - outbox: Its outbox as the test wants it.
  ///   - packs: Its packs as the test wants them.
  package init(
    _ base: MemoryQueryStorage = MemoryQueryStorage(),
    outbox: (any MutationOutbox) -> ScriptedOutbox = { ScriptedOutbox($0) },
    packs: (any PackStorage) -> any PackStorage = { $0 }
  ) {
    self.base = base
    self.packs = packs(base.packs)
    self.scripted = outbox(base.outbox)
  }

  public var outbox: any MutationOutbox { self.scripted }
  public var slots: StorageSlots { self.base.slots }
  public var events: StorageEvents { self.base.events }
  public var statistics: StorageStatistics { self.base.statistics }
  public var synchronousHydrationLimit: Int { self.base.synchronousHydrationLimit }

  public func read(_ slot: StorageSlot) -> StorageReading { self.base.read(slot) }

  public func readLater(_ slot: StorageSlot) async -> StorageReading {
    await self.base.readLater(slot)
  }

  public func didHydrate(_ slot: StorageSlot, from entry: StoredEntry?, _ miss: StorageMiss?) {
    self.base.didHydrate(slot, from: entry, miss)
  }

  public func write(_ slot: StorageSlot) { self.base.write(slot) }

  public func invalidate(matching path: QueryPath) { self.base.invalidate(matching: path) }

  public func prefetch(matching path: QueryPath) async throws {
    try await self.base.prefetch(matching: path)
  }

  public func flush() async throws { try await self.base.flush() }

  public func close() async throws { try await self.base.close() }

  public func erase() async throws { try await self.base.erase() }
}
