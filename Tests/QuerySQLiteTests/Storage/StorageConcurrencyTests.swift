import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Many threads do all that can be done with a storage, on few queries. Run it under the thread
/// sanitizer too.
@Suite struct StorageConcurrencyTests {
  private static let names = ["a", "b", "c"]

  /// The storages of one folder, which threads open and close.
  private final class Storages: Sendable {
    let scratch: StorageScratch
    private let storages: Locked<[SQLiteQueryStorage]>

    init() throws {
      let scratch = try StorageScratch()
      self.scratch = scratch
      self.storages = Locked(try (0..<3).map { try Self.open(scratch, $0) })
    }

    private static func open(_ scratch: StorageScratch, _ index: Int) throws -> SQLiteQueryStorage {
      // The third one is another account.
      try scratch.storage(partition: index == 2 ? "other" : "") {
        $0.writeDelay = .milliseconds(1)
        $0.checkpointFrames = 20
        $0.maximumEntries = 2
      }
    }

    subscript(index: Int) -> SQLiteQueryStorage { self.storages.withLock { $0[index] } }

    var all: [SQLiteQueryStorage] { self.storages.withLock { $0 } }

    /// Puts a new storage in the place of one.
    ///
    /// - Returns: The old one.
    func reopen(_ index: Int) throws -> SQLiteQueryStorage {
      let new = try Self.open(self.scratch, index)
      return self.storages.withLock { storages in
        defer { storages[index] = new }
        return storages[index]
      }
    }
  }

  @Test(arguments: SeededGenerator.seeds(2))
  func allThatCanBeDoneAtOnceEndsWithWhatWasSetLast(seed: UInt64) async throws {
    let storages = try Storages()
    // Some set what was erased meanwhile, and are told.
    try await WarningRecorder().record {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for task in 0..<6 {
          group.addTask {
            var generator = SeededGenerator(seed: seed &* 31 &+ UInt64(task))
            for _ in 0..<60 { try await Self.step(on: storages, &generator) }
          }
        }
        try await group.waitForAll()
      }
    }
    for index in [0, 2] {
      for name in Self.names { storages[index].store(name).currentValue = "\(index) \(name)" }
      try await storages[index].flush()
      for name in Self.names where index == 0 || name == "c" {
        let text = await storages[index].text(name)
        #expect(text == nil || text == "\(index) \(name)")
      }
    }
    for storage in storages.all { try await storage.close() }
    #expect(try storages.scratch.rows("PRAGMA integrity_check") == ["ok"])
    let rows = try storages.scratch.rows(
      "SELECT CAST(value AS TEXT) FROM entries e JOIN partitions p ON p.id = e.partition")
    #expect(!rows.isEmpty && rows.count <= 6)
    #expect(rows.allSatisfy { $0.hasPrefix("\"0 ") || $0.hasPrefix("\"2 ") })
  }

  private static func step(
    on storages: Storages,
    _ generator: inout SeededGenerator
  ) async throws {
    let index = Int.random(in: 0..<3, using: &generator)
    let storage = storages[index]
    let store = storage.store(Self.names.randomElement(using: &generator) ?? "a")
    switch Int.random(in: 0..<100, using: &generator) {
    case 0..<40: store.currentValue = "\(generator.next())"
    case 40..<50: store.reset()
    case 50..<60: await store.hydrated()
    case 60..<70:
      // Another task may erase at any time, which resets the store and so cancels the fetch.
      do { _ = try await store.fetch() } catch is CancellationError {}
    case 70..<75: storage.invalidate(matching: ["texts"])
    case 75..<85: await Self.orClosed { try await storage.flush() }
    case 85..<90: await Self.orClosed { try await storage.prefetch(matching: []) }
    case 90..<94: await Self.orClosed { try await storage.erase() }
    default: try await storages.reopen(index).close()
    }
  }

  /// Another task may close the storage at any time.
  private static func orClosed(_ body: () async throws -> Void) async {
    do {
      try await body()
    } catch let error as StorageError {
      #expect(error.code == .misuse, "\(error)")
    } catch {
      Issue.record(error)
    }
  }
}
