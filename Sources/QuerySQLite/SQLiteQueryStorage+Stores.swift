import FoundationEssentials
public import Query

// How stores use the storage: they submit changes, and read entries.

// MARK: - Writing

extension SQLiteQueryStorage {
  public func write(_ slot: StorageSlot) {
    if self.isClosed.withLock({ $0 }) {
      // Another storage of the partition may be open, whose stores see later changes only if none
      // is pending.
      slot.dropChange()
      return
    }
    self.database.write(slot, in: self.partition)
  }
}

// MARK: - Reading

extension SQLiteQueryStorage {
  public func read(_ slot: StorageSlot) -> StorageReading {
    if self.isClosed.withLock({ $0 }) { return .miss(.failed(CacheDatabase.closed)) }
    return self.database.read(
      slot.identity, in: self.partition, limit: self.configuration.synchronousHydrationLimit)
  }

  public func readLater(_ slot: StorageSlot) async -> StorageReading {
    await self.database.readLater(slot.identity, in: self.partition)
  }

  public func didHydrate(_ slot: StorageSlot, from entry: StoredEntry?, _ miss: StorageMiss?) {
    self.database.didHydrate(slot.identity, in: self.partition, from: entry, miss)
  }
}
