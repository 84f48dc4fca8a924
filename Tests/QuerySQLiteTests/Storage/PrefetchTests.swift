import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Persistence §6: `prefetch(matching:)`.
@Suite(.warningsAreIssues) struct PrefetchTests {
  @Test func whatWasPrefetchedIsShownWithoutReadingTheFile() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    try await storage.set(["a": "stored", "b": "other"])
    try await storage.prefetch(matching: ["texts"])
    try Self.deleteAll(in: scratch)
    #expect(storage.store("a").currentValue == "stored")
    #expect(storage.statistics.hits == 1)
    // Handed out once: from then on the file counts.
    #expect(await storage.text("a") == nil)
    try await storage.close()
  }

  /// Behind the storage's back, without an event for it.
  private static func deleteAll(in scratch: StorageScratch, but name: String = "") throws {
    let connection = try scratch.connection()
    try connection.write {
      _ = try connection.rowsOfText(
        "DELETE FROM entries WHERE identity <> '[\"texts\",\"\(name)\"]'")
    }
    try connection.close()
  }

  @Test func whatIsNotUnderThePathIsNotPrefetched() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    try await storage.set(["a": "stored", "b": "other"])
    try await storage.prefetch(matching: ["texts", "a"])
    try await storage.prefetch(matching: ["others"])
    try Self.deleteAll(in: scratch)
    #expect(await storage.text("a") == "stored")
    #expect(await storage.text("b") == nil)
    try await storage.close()
  }

  @Test func whatWasHandedOverBeforeIsPrefetched() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.writeDelay = .seconds(3_600) }
    storage.store("a").currentValue = "edited"
    try await storage.prefetch(matching: [])
    try Self.deleteAll(in: scratch)
    #expect(storage.store("a").currentValue == "edited")
    try await storage.close()
  }

  @Test func aWriteDropsWhatWasPrefetched() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    try await storage.set(["a": "stored", "b": "stored", "c": "stored", "d": "stored"])
    let (changed, removed) = (storage.store("a"), storage.store("b"))
    try await storage.prefetch(matching: [])
    changed.currentValue = "edited"
    removed.reset()
    storage.invalidate(matching: ["texts", "c"])
    try await storage.flush()
    #expect(await storage.text("a") == "edited")
    #expect(await storage.text("b") == nil)
    let invalidated = storage.store("c")
    await invalidated.hydrated()
    #expect(invalidated.isInvalidated)
    try await storage.close()
  }

  /// It is committed after the scan.
  @Test func whatChangesWhileEarlierChangesAreCommittedIsNotShownAsItWas() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.writeDelay = .seconds(3_600) }
    try await storage.set(["a": "stored", "b": "other"])
    let coder = GatedCoder(encoding: Door())
    let busy = storage.store("busy", PersistenceOptions(coder: coder))
    busy.currentValue = "coded"
    let prefetching = Task { try await storage.prefetch(matching: []) }
    await coder.encoded.wait(forCount: 1)
    storage.store("a").currentValue = "edited"
    coder.encoding.open()
    try await prefetching.value
    try await storage.flush()
    try Self.deleteAll(in: scratch, but: "a")
    #expect(await storage.text("a") == "edited")
    #expect(await storage.text("b") == "other", "it was prefetched")
    try await storage.close()
    withExtendedLifetime(busy) {}
  }

  @Test func whatAnotherProcessWritesDropsWhatWasPrefetched() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    try await storage.set(["a": "stored"])
    try await storage.prefetch(matching: [])
    let events = storage.events
    let identity = QueryIdentity(canonicalText: #"["texts","a"]"#)
    let connection = try scratch.connection()
    let tables = try CacheTables(partitionNamed: "", on: connection)
    try connection.write {
      var changes = try tables.begin()
      let content = StoredEntry.Content.value(Data(#""of another process""#.utf8))
      let entry = StoredEntry(
        kind: "query", coder: "json", version: 1, content: content,
        history: UpdateHistory(valueUpdateCount: 2, valueLastUpdatedAt: Date()))
      _ = try changes.write(entry, identity: identity)
      _ = try changes.finish()
    }
    ChangeKick(kind: .cache, folder: scratch.path).kick()
    #expect(await events.contains(.changedByAnotherProcess(identity)))
    #expect(await storage.text("a") == "of another process")
    try connection.close()
    try await storage.close()
  }

  @Test func erasingDropsWhatWasPrefetched() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    try await storage.set(["a": "stored"])
    try await storage.prefetch(matching: [])
    try await storage.erase()
    #expect(await storage.text("a") == nil)
    try await storage.close()
  }
}
