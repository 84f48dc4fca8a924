import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Persistence §2: all storages of a process on one folder share their files.
@Suite(.warningsAreIssues) struct SharedFolderTests {
  private static let hour = Duration.seconds(3_600)

  private static func open(_ url: URL, partition: String = "") throws -> SQLiteQueryStorage {
    var configuration = SQLiteQueryStorage.Configuration()
    configuration.writeDelay = Self.hour
    return try SQLiteQueryStorage(
      directory: url, partition: partition, configuration: configuration)
  }

  @Test func twoStoragesOfOnePartitionShareWhatIsNotWrittenYet() async throws {
    let scratch = try StorageScratch()
    let first = try scratch.storage { $0.writeDelay = Self.hour }
    let second = try scratch.storage()
    first.store("a").currentValue = "edited"
    #expect(second.store("a").currentValue == "edited")
    try await second.flush()
    #expect(first.statistics == second.statistics)
    #expect(first.statistics.writes == 1)
    try await first.close()
    try await second.close()
  }

  @Test func aLinkAndARelativeNameOfAFolderAreTheFolder() async throws {
    let scratch = try StorageScratch()
    let links = try TemporaryFolder()
    let link = "\(links.path)/link"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: scratch.path)
    let depth = FileManager.default.currentDirectoryPath.split(separator: "/").count
    let relative = String(repeating: "../", count: depth) + scratch.path.dropFirst()
    let first = try Self.open(URL(filePath: scratch.path))
    first.store("a").currentValue = "edited"
    for name in [
      link, relative, "\(scratch.path)/",
      "\(scratch.path)/../\(scratch.path.split(separator: "/").last ?? "")",
    ] {
      let other = try Self.open(URL(filePath: name))
      #expect(other.store("a").currentValue == "edited", "\(name)")
      try await other.close()
    }
    try await first.close()
  }

  @Test func twoPartitionsOfOneFolderAreApart() async throws {
    let scratch = try StorageScratch()
    let first = try Self.open(URL(filePath: scratch.path), partition: "first")
    let second = try Self.open(URL(filePath: scratch.path), partition: "second")
    first.store("a").currentValue = "of the first"
    try await first.flush()
    #expect(await second.text("a") == nil)
    second.store("a").currentValue = "of the second"
    try await second.flush()
    #expect(await first.text("a") == "of the first")
    #expect(await second.text("a") == "of the second")
    try await first.close()
    try await second.close()
  }

  @Test func closingOneLeavesTheOtherWorking() async throws {
    let scratch = try StorageScratch()
    for partition in ["", "other"] {
      let first = try scratch.storage { $0.writeDelay = Self.hour }
      let second = try scratch.storage(partition: partition)
      let store = first.store("a")
      store.currentValue = "of the first"
      try await first.close()
      store.currentValue = "after closing"
      let name = "b\(partition)"
      second.store(name).currentValue = "of the second"
      try await second.flush()
      #expect(await second.text(name) == "of the second")
      #expect(await second.text("a") == (partition.isEmpty ? "of the first" : nil))
      try await second.close()
    }
    let storage = try scratch.storage()
    #expect(storage.store("a").currentValue == "of the first")
    try await storage.close()
  }

  @Test func closingTwiceAndFromManyTasksDoesNothingMore() async throws {
    let scratch = try StorageScratch()
    let first = try scratch.storage()
    let second = try scratch.storage()
    first.store("a").currentValue = "edited"
    await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<20 { group.addTask { try await first.close() } }
    }
    try await first.close()
    #expect(await storageError { try await first.flush() }?.code == .misuse)
    // It was counted once.
    try await second.flush()
    #expect(await second.text("a") == "edited")
    try await second.close()
  }

  @Test func whatIsReadLaterFromAStorageThatIsClosedMeanwhileIsAMiss() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    try await storage.set(["a": "stored"])
    let slot = storage.slots
    #expect(slot.existingSlot(for: QueryIdentity(canonicalText: "none")) == nil)
    let store = storage.store("a")
    try await storage.close()
    #expect(store.currentValue == "stored")
    let late = storage.store("a")
    await late.hydrated()
    #expect(late.currentValue == nil)
    #expect(try await late.fetch() == "fetched")
  }

  /// The next storage on the folder opens after the released one, and sees its changes.
  @Test func aStorageThatIsLetGoOfHasWrittenWhenTheNextOneOpens() async throws {
    let scratch = try StorageScratch()
    for round in 1...20 {
      try Self.open(URL(filePath: scratch.path)).store("a").currentValue = "\(round)"
      let next = try Self.open(URL(filePath: scratch.path))
      #expect(await next.text("a") == "\(round)")
      // Its store releases it.
    }
  }

  @Test func aFolderThatWasRemovedAndMadeAnewIsAnotherOne() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    try await storage.set(["a": "old"])
    try FileManager.default.removeItem(atPath: scratch.path)
    let other = try scratch.storage()
    try await other.set(["b": "new"])
    try await storage.set(["c": "newer"])
    #expect(try scratch.rows("SELECT identity FROM entries ORDER BY identity").count == 2)
    #expect(await other.text("a") == nil)
    try await storage.close()
    try await other.close()
  }
}
