import Foundation
import Query
import QueryInspection
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Persistence §10: accounts, and what is left of one that was erased.
@Suite(.warningsAreIssues) struct AccountsTests {
  private static let marker = "MARKER-OF-A-SECRET"
  private static let other = "MARKER-OF-THE-OTHER"

  /// Values with a marker, of all sizes, written, replaced, removed and quarantined.
  private static func fill(_ storage: SQLiteQueryStorage, _ marker: String) async throws {
    for round in 0..<3 {
      for number in 0..<100 {
        let rest = String(repeating: "x", count: number * 100)
        storage.store("\(number)").currentValue = "\(marker) \(round) \(rest) \(marker)"
      }
      try await storage.flush()
    }
    for number in stride(from: 0, to: 100, by: 3) { storage.store("\(number)").reset() }
    try await storage.flush()
    let newer = PersistenceOptions(version: 2)
    for number in [1, 2, 4] { _ = storage.store("\(number)", newer) }
    try await storage.flush()
  }

  @Test func ofWhatIsErasedNoByteIsLeftAndAnotherAccountKeepsAll() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage(partition: "erased") { $0.checkpointFrames = 50 }
    let neighbour = try scratch.storage(partition: "neighbour")
    try await Self.fill(storage, Self.marker)
    try await Self.fill(neighbour, Self.other)
    #expect(storage.statistics.quarantined == 3)
    try Data(Self.marker.utf8).write(
      to: URL(filePath: "\(scratch.path)/cache.sqlite.corrupt-20200101T000000Z"))
    let kept = neighbour.statistics.entries
    let living = (0..<10).map { storage.store("living \($0)") }
    for store in living { store.currentValue = Self.marker }
    let error = storage.store("failed", fetching: nil)
    error.currentValue = Self.marker
    try await storage.erase()
    await WarningRecorder().record {
      for store in living {
        #expect(store.currentValue == nil)
        store.currentValue = "\(Self.marker) after"
      }
    }
    try await storage.flush()
    #expect(storage.statistics.entries == 0)
    #expect(storage.statistics.bytes == 0)
    #expect(await neighbour.text("1") == nil)
    #expect(await neighbour.text("5")?.hasPrefix(Self.other) == true)
    #expect(neighbour.statistics.entries == kept)
    // Files are read by hand, so this process must have none of them open.
    try await storage.close()
    try await neighbour.close()
    #expect(try scratch.files(containing: Self.marker) == [])
    #expect(try scratch.files(containing: Self.other) == ["cache.sqlite"])
  }

  /// Neither is the name: it may be an address.
  /// Swift takes the two texts for equal, and so they are one account on the disk, too.
  @Test func aNameInAnotherCompositionIsTheSameAccount() async throws {
    let scratch = try StorageScratch()
    let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}")
    let first = try scratch.storage(partition: composed)
    try await first.set(["a": "text"])
    _ = try await first.outbox.enqueue(OutboxScratch.mutation("mutation"), claiming: false)
    try await first.close()
    let second = try scratch.storage(partition: decomposed)
    #expect(await second.text("a") == "text")
    #expect(try second.outbox.entries().count == 1)
    let both = try scratch.storage(partition: composed)
    try await second.erase()
    #expect(await both.text("a") == nil)
    #expect(try both.outbox.entries() == [])
    try await both.close()
    try await second.close()
    let third = try scratch.storage(partition: composed)
    #expect(await third.text("a") == nil)
    #expect(try third.outbox.entries() == [])
    try await third.close()
  }

  /// The first change of an account may be written before the job that prepares it.
  @Test func manyNewAccountsOfOneProcessAreWrittenAndNothingIsSaid() async throws {
    let scratch = try StorageScratch()
    let first = try scratch.storage { $0.writeDelay = .zero }
    let log = EventLog(first.events)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in 0..<4 {
        group.addTask {
          for number in 0..<100 {
            let storage = try scratch.storage(partition: "\(worker)-\(number)")
            storage.store("a").currentValue = "text"
          }
        }
      }
      try await group.waitForAll()
    }
    try await first.flush()
    #expect(log.events.filter { $0.isDegraded } == [])
    try await first.close()
    #expect(try scratch.rows("SELECT count(*) FROM entries") == ["400"])
  }

  @Test func ofTheNameOfAnErasedAccountNoByteIsLeft() async throws {
    let scratch = try StorageScratch()
    let name = "anna@example.org"
    let storage = try scratch.storage(partition: name)
    let neighbour = try scratch.storage(partition: "neighbour")
    try await neighbour.set(["a": "neighbour's"])
    try await storage.set(["a": "text"])
    _ = try await storage.outbox.enqueue(OutboxScratch.mutation(), claiming: false)
    try await storage.erase()
    try await storage.close()
    try await neighbour.close()
    #expect(try scratch.files(containing: name) == [])
    // Nor does opening it, or reading, bring it back.
    let next = try scratch.storage(partition: name)
    #expect(await next.text("a") == nil)
    #expect(try next.outbox.entries(in: nil) == [])
    try await next.close()
    #expect(try scratch.files(containing: name) == [])
    #expect(
      try StoreInspection(directory: URL(filePath: scratch.path)).partitions() == ["neighbour"])
  }

  @Test func anAccountThatIsUsedAgainIsListedAgain() async throws {
    let scratch = try StorageScratch()
    let name = "anna@example.org"
    for round in 1...3 {
      let storage = try scratch.storage(partition: name)
      try await storage.set(["a": "\(round)"])
      _ = try await storage.outbox.enqueue(OutboxScratch.mutation(), claiming: false)
      #expect(try StoreInspection(directory: URL(filePath: scratch.path)).partitions() == [name])
      #expect(await storage.text("a") == "\(round)")
      #expect(try storage.outbox.counts.pending == 1)
      try await storage.erase()
      try await storage.close()
    }
    #expect(try scratch.rows("SELECT epoch FROM partitions") == ["3"])
  }

  /// Each of the two files has the name, and after a launch goes by what it finds there.
  @Test func anAccountThatHasNothingButNewMutationsIsListedAgain() async throws {
    let scratch = try StorageScratch()
    let name = "anna@example.org"
    for _ in 1...2 {
      let storage = try scratch.storage(partition: name)
      _ = try await storage.outbox.enqueue(OutboxScratch.mutation(), claiming: false)
      let inspection = try StoreInspection(directory: URL(filePath: scratch.path))
      #expect(try inspection.partitions() == [name])
      try await storage.erase()
      try await storage.close()
      #expect(try inspection.partitions() == [])
    }
  }

  @Test func theFirstValueThatIsNotWrittenAfterErasingIsToldOf() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    let living = storage.store("told of")
    living.currentValue = "before"
    try await storage.erase()
    let recorder = WarningRecorder()
    let path = try QueryIdentity(path: ["texts", "told of"])
    await recorder.record(about: "\(path)") {
      living.currentValue = "first"
      living.currentValue = "second"
      await recorder.wait(forCount: 1)
    }
    #expect(recorder.warnings == [.storeNotWrittenAfterErasing(identity: path)])
    try await storage.close()
  }

  /// Nobody has set a value: the storage asked for it again.
  @Test func whatAStoreHandsOverAgainWhileItIsErasedIsNotToldOf() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    let living = storage.store("told of by hand")
    living.currentValue = "before"
    try await storage.flush()
    let path = try QueryIdentity(path: ["texts", "told of by hand"])
    let slot = try #require(storage.slots.existingSlot(for: path))
    _ = storage.slots.closeAll()
    let (again, first) = (WarningRecorder(), WarningRecorder())
    await again.record { slot.handOverAgain() }
    await first.record { living.currentValue = "first" }
    // It is said once, in the task that the first of them started.
    while again.warnings.isEmpty, first.warnings.isEmpty { await Task.yield() }
    #expect(again.warnings == [])
    #expect(first.warnings == [.storeNotWrittenAfterErasing(identity: path)])
    try await storage.close()
  }

  /// What is in the log, and in the shared memory, right after it: another process looks.
  @Test func noByteIsLeftInTheLogEither() async throws {
    let scratch = try StorageScratch()
    await #expect(processExitsWith: .success) {
      [path = scratch.path as String, marker = Self.marker as String] in
      let storage = try SQLiteQueryStorage(directory: URL(filePath: path))
      try await Self.fill(storage, marker)
      try await storage.erase()
      // As it is killed, nothing is tidied up.
      _exit(0)
    }
    #expect(scratch.size(of: "cache.sqlite-shm") > 0)
    #expect(try scratch.files(containing: Self.marker) == [])
  }

  @Test func aStoreMadeAnewAfterErasingIsWritten() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    try await storage.set(["a": "old"])
    let living = storage.store("a")
    try await storage.erase()
    await WarningRecorder().record { living.currentValue = "of the living" }
    try await storage.flush()
    #expect(await storage.text("a") == nil)
    try await storage.set(["a": "new"])
    #expect(await storage.text("a") == "new")
    living.currentValue = "of the living"
    try await storage.flush()
    #expect(await storage.text("a") == "new")
    try await storage.close()
  }

  @Test func aProcessWithAnOlderEpochWritesNothingMoreAndTheNextLaunchDoes() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    let worker = try WorkerProcess("write", scratch.path, "w", "5", "1000", "10", "5")
    var erasures = 0
    for await line in worker.lines where line == "flushed 1 5" || line == "flushed 500 5" {
      try await storage.erase()
      erasures += 1
    }
    #expect(erasures == 2)
    #expect(await worker.waitForEnd() == 0)
    #expect(try scratch.rows("SELECT identity FROM entries") == [])
    try await storage.close()
    #expect(try scratch.files(containing: "w/1/") == [])
    let next = try WorkerProcess("write", scratch.path, "w", "5", "1", "10", "5")
    _ = await next.finish()
    #expect(try scratch.rows("SELECT identity FROM entries").count == 5)
  }

  @Test func aReaderThatStaysInTheWayMakesErasingThrowAndTheNextOpeningFinishesIt() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.erasePatience = .milliseconds(100) }
    let neighbour = try scratch.storage(partition: "neighbour")
    try await Self.fill(storage, Self.marker)
    let reader = try scratch.connection()
    try await reader.reading {
      let error = await storageError { try await storage.erase() }
      #expect(error?.code == .busy)
      #expect(error?.operation == "erase")
      // The rows are gone all the same.
      #expect(await storage.text("1") == nil)
      #expect(storage.statistics.entries == 0)
      // And it goes on.
      try await neighbour.set(["a": "of the neighbour"])
      try await storage.set(["a": "new"])
    }
    try reader.close()
    #expect(try scratch.rows("SELECT is_erasing FROM partitions WHERE name = ''") == ["1"])
    try await storage.close()
    try await neighbour.close()
    let next = try scratch.storage()
    #expect(try scratch.rows("SELECT is_erasing FROM partitions WHERE name = ''") == ["0"])
    #expect(await next.text("a") == "new")
    try await next.close()
    #expect(try scratch.files(containing: Self.marker) == [])
  }

  @Test func erasingFromManyTasksAtOnceLeavesNothing() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    try await Self.fill(storage, Self.marker)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<5 { group.addTask { try await storage.erase() } }
      try await group.waitForAll()
    }
    try await storage.set(["a": "new"])
    #expect(storage.statistics.entries == 1)
    try await storage.close()
    #expect(try scratch.files(containing: Self.marker) == [])
  }
}
