import Foundation
import Query
import TestSupport

/// A storage in memory whose outbox has a folder for the files of requests.
struct FolderStorage: QueryStorage {
  let outbox: any MutationOutbox
  private let base: MemoryQueryStorage

  init(_ folder: URL) {
    self.base = MemoryQueryStorage()
    self.outbox = FaultyOutbox(self.base.outbox, bodiesFolder: folder)
  }

  var slots: StorageSlots { self.base.slots }
  var events: StorageEvents { self.base.events }
  var statistics: StorageStatistics { self.base.statistics }
  var synchronousHydrationLimit: Int { self.base.synchronousHydrationLimit }

  func read(_ slot: StorageSlot) -> StorageReading { self.base.read(slot) }

  func readLater(_ slot: StorageSlot) async -> StorageReading { await self.base.readLater(slot) }

  func didHydrate(_ slot: StorageSlot, from entry: StoredEntry?, _ miss: StorageMiss?) {
    self.base.didHydrate(slot, from: entry, miss)
  }

  func write(_ slot: StorageSlot) { self.base.write(slot) }

  func invalidate(matching path: QueryPath) { self.base.invalidate(matching: path) }

  func prefetch(matching path: QueryPath) async throws {
    try await self.base.prefetch(matching: path)
  }

  func flush() async throws { try await self.base.flush() }

  func close() async throws { try await self.base.close() }

  func erase() async throws { try await self.base.erase() }
}
