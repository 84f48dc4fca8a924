import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QueryInspection
@testable import QuerySQLite

/// The tools: an export that is imported into an empty store is exported again byte for byte, and one that
/// is damaged is refused before anything is written.
@Suite struct StoreExportTests {
  /// A store with values of every form, and an outbox with every kind of row.
  private static func fill(_ scratch: OutboxScratch) async throws {
    let storage = scratch.storage
    let client = QueryClient(storage: storage)
    for text in ["plain", "nul \0 and \u{202e}", String(repeating: "large ", count: 2_000)] {
      storage.store(text.prefix(9).description).currentValue = text
    }
    storage.store("pinned", PersistenceOptions(maxAge: .seconds(60), isPinned: true)).currentValue =
      "p"
    let failing = storage.store("failing", fetching: nil)
    failing.currentValue = "before"
    _ = try? await failing.fetch()
    let pages = client.store(for: StoredPages().persisted())
    for _ in 0..<3 { _ = try await pages.fetchNextPage() }
    try await storage.flush()
    let first = try await scratch.add("first", lane: "a")
    try await scratch.add("second", lane: "a")
    try await scratch.add("third", after: [first])
    try await scratch.add("fourth")
    // The first runs, the fourth fails for good.
    for lease in try await scratch.claim(2) where lease.entry.id != first {
      _ = try await scratch.outbox.settle(lease, OutboxScratch.failure(.dead(.rejected)))
    }
    let ended = try await scratch.add("fifth")
    for lease in try await scratch.claim(5) where lease.entry.id == ended {
      _ = try await scratch.outbox.settle(lease, OutboxScratch.success)
    }
  }

  private static func export(_ folder: String, withOutbox: Bool) throws -> Data {
    let store = try StoreInspection(directory: URL(filePath: folder))
    var data = Data()
    let damaged = try store.export("", withOutbox: withOutbox) { data += $0 }
    #expect(damaged == [])
    return data
  }

  private static func importExport(
    _ data: Data, into folder: TemporaryFolder, withOutbox: Bool = true
  ) throws -> StoreMaintenance.Imported {
    let path = "\(folder.path)/export.jsonl"
    try data.write(to: URL(filePath: path))
    return try StoreMaintenance(directory: URL(filePath: folder.path))
      .importExport(at: path, withOutbox: withOutbox)
  }

  @Test func pausesGoWithTheOutbox() async throws {
    let scratch = try OutboxScratch()
    try await scratch.add(lane: "lane")
    let pauses = Set([OutboxPause.lane("lane"), .name("another"), .host("example.org")])
    for pause in pauses { try await scratch.outbox.pause(pause) }
    try await scratch.storage.close()
    let first = try Self.export(scratch.folder.path, withOutbox: true)
    let folder = try TemporaryFolder()
    _ = try Self.importExport(first, into: folder)
    #expect(try Self.export(folder.path, withOutbox: true) == first)
    let copy = try OutboxScratch(in: folder)
    #expect(Set(try copy.outbox.pauses.keys) == pauses)
    #expect(try await copy.claim().isEmpty)
    try await copy.outbox.resume(.lane("lane"))
    #expect(try await copy.claim().count == 1)
    try await copy.storage.close()
  }

  @Test(arguments: [false, true])
  func whatIsImportedIsExportedByteForByte(_ withOutbox: Bool) async throws {
    let scratch = try OutboxScratch()
    try await Self.fill(scratch)
    // What runs is given back then, and is due from that moment on.
    try await scratch.storage.close()
    let first = try Self.export(scratch.folder.path, withOutbox: withOutbox)
    #expect(try Self.export(scratch.folder.path, withOutbox: withOutbox) == first)
    let folder = try TemporaryFolder()
    let imported = try Self.importExport(first, into: folder, withOutbox: withOutbox)
    #expect(imported.entries == 6)
    #expect(imported.ended == 1)
    #expect(imported.mutations == (withOutbox ? 4 : 0))
    #expect(try Self.export(folder.path, withOutbox: withOutbox) == first)
    var findings = [InspectionFinding]()
    try StoreInspection(directory: URL(filePath: folder.path)).check { findings.append($0) }
    #expect(findings == [])
  }

  /// More than half of what a transaction takes.
  @Test func manyEntriesAreAllImported() async throws {
    let scratch = try OutboxScratch()
    for number in 0..<400 { scratch.storage.store("\(number)").currentValue = "text" }
    try await scratch.storage.close()
    let data = try Self.export(scratch.folder.path, withOutbox: false)
    let folder = try TemporaryFolder()
    #expect(try Self.importExport(data, into: folder, withOutbox: false).entries == 400)
    #expect(try Self.export(folder.path, withOutbox: false) == data)
  }

  /// More than are read at once.
  @Test func manyMutationsAreAllExported() async throws {
    let scratch = try OutboxScratch()
    let count = StoreExport.rowsPerRead + 1
    for _ in 0..<count { try await scratch.add() }
    try await scratch.storage.close()
    let data = try Self.export(scratch.folder.path, withOutbox: true)
    #expect(try Self.importExport(data, into: TemporaryFolder()).mutations == count)
  }

  @Test func whatIsImportedIsHydratedAndSent() async throws {
    let scratch = try OutboxScratch()
    try await Self.fill(scratch)
    let data = try Self.export(scratch.folder.path, withOutbox: true)
    let folder = try TemporaryFolder()
    _ = try Self.importExport(data, into: folder)
    let copy = try OutboxScratch(in: folder)
    #expect(await copy.storage.text("plain") == "plain")
    let leases = try await copy.claim(10)
    #expect(leases.map { String(decoding: $0.entry.arguments, as: UTF8.self) } == ["first"])
    #expect(leases.allSatisfy { $0.entry.maybeApplied })
    let added = try await copy.outbox.enqueue(OutboxScratch.mutation("new"), claiming: false)
    // No number that the other store has given is given again.
    #expect(added.entry.number > 5)
    try await copy.storage.close()
    try await scratch.storage.close()
  }

  /// The export is imported once more after what it brought was sent.
  @Test func whatHasEndedSinceIsNotImportedAgain() async throws {
    let scratch = try OutboxScratch()
    let first = try await scratch.add("first")
    let second = try await scratch.add("second")
    try await scratch.add("third", after: [first])
    try await scratch.add("fourth", after: [second])
    let data = try Self.export(scratch.folder.path, withOutbox: true)
    try await scratch.storage.close()
    let folder = try TemporaryFolder()
    #expect(try Self.importExport(data, into: folder).mutations == 4)
    var copy = try OutboxScratch(in: folder)
    let lease = try #require(
      try await copy.outbox.claim(ClaimRequest(.mutation(first))).leases.first)
    _ = try await copy.outbox.settle(lease, OutboxScratch.success)
    for entry in try copy.outbox.entries() { try await copy.outbox.cancel(entry.id) }
    while try copy.outbox.counts.dead > 0 {
      for entry in try copy.outbox.entries() { try await copy.outbox.discard(entry.id) }
    }
    try await copy.storage.close()
    #expect(try Self.importExport(data, into: folder).mutations == 0)
    copy = try OutboxScratch(in: folder)
    #expect(try copy.outbox.entries().isEmpty)
    #expect(try copy.outbox.counts == OutboxCounts())
    try await copy.storage.close()
  }

  /// One that this store knows as sent, and what depends on it, beside one that is new here.
  @Test func whatDependsOnWhatWasSentHereGoesOn() async throws {
    let scratch = try OutboxScratch()
    let first = try await scratch.add("first")
    try await scratch.add("second", after: [first])
    let data = try Self.export(scratch.folder.path, withOutbox: true)
    try await scratch.storage.close()
    let folder = try TemporaryFolder()
    var copy = try OutboxScratch(in: folder)
    var mutation = OutboxScratch.mutation("first")
    mutation.id = first
    let sent = try await copy.outbox.enqueue(mutation, claiming: true)
    _ = try await copy.outbox.settle(try #require(sent.lease), OutboxScratch.success)
    try await copy.storage.close()
    #expect(try Self.importExport(data, into: folder).mutations == 1)
    copy = try OutboxScratch(in: folder)
    let leases = try await copy.claim(10)
    #expect(leases.map { String(decoding: $0.entry.arguments, as: UTF8.self) } == ["second"])
    try await copy.storage.close()
  }

  @Test func anImportThatWasKilledIsRunAgain() async throws {
    let scratch = try OutboxScratch()
    for number in 0..<7 {
      let new = try await scratch.outbox.enqueue(
        OutboxScratch.mutation("\(number)"), claiming: true)
      _ = try await scratch.outbox.settle(try #require(new.lease), OutboxScratch.success)
    }
    for _ in 0..<3 { try await scratch.add(lane: "a") }
    let data = try Self.export(scratch.folder.path, withOutbox: true)
    try await scratch.storage.close()
    let folder = try TemporaryFolder()
    // What one leaves that is killed after some of its transactions.
    #expect(try Self.importExport(data, into: folder, withOutbox: false).ended == 7)
    let connection = try DatabaseOpener(kind: .mutations, folder: folder.path).openWriter()
    _ = try connection.rowsOfText("DELETE FROM history WHERE sequence > 3")
    try connection.close()
    let imported = try Self.importExport(data, into: folder)
    #expect(imported.ended == 4 && imported.mutations == 3)
    #expect(try Self.export(folder.path, withOutbox: true) == data)
  }

  @Test func anOutboxIsTakenIntoAnEmptyOneAlone() async throws {
    let scratch = try OutboxScratch()
    try await scratch.add()
    let data = try Self.export(scratch.folder.path, withOutbox: true)
    #expect(throws: InspectionError.outboxNotEmpty(count: 1)) {
      try Self.importExport(data, into: scratch.folder)
    }
    #expect(try Self.importExport(data, into: scratch.folder, withOutbox: false).mutations == 0)
    try await scratch.storage.close()
  }

  /// Some of its mutations would be missing, or written twice.
  @Test func anOutboxThatChangesWhileItIsExportedIsNotExported() async throws {
    let scratch = try OutboxScratch()
    try await scratch.add()
    let path = scratch.folder.path
    let (errors, hasClaimed) = (Recorder<InspectionError?>(), DispatchSemaphore(value: 0))
    await runOnThreads(1) { _ in
      let isChanged = Locked(false)
      do {
        let store = try StoreInspection(directory: URL(filePath: path))
        _ = try store.export("", withOutbox: true) { data in
          let isOutbox = String(decoding: data, as: UTF8.self).contains("newestNumber")
          if !isOutbox || isChanged.withLock({ $0 }) { return }
          isChanged.withLock { $0 = true }
          Task {
            defer { hasClaimed.signal() }
            _ = try await scratch.claim()
          }
          hasClaimed.wait()
        }
        errors.append(nil)
      } catch {
        errors.append(error as? InspectionError)
      }
    }
    guard case .unavailable(let error)?? = errors.elements.first else {
      Issue.record("the export has the mutation as it was: \(errors.elements)")
      return
    }
    #expect(error.message.contains("the outbox was changed meanwhile"))
    try await scratch.storage.close()
  }

  @Test func aDamagedExportIsRefusedBeforeAnythingIsWritten() async throws {
    let scratch = try OutboxScratch()
    try await Self.fill(scratch)
    let data = try Self.export(scratch.folder.path, withOutbox: true)
    try await scratch.storage.close()
    var generator = SeededGenerator(seed: 7)
    let lines = data.split(separator: 0x0a, omittingEmptySubsequences: false)
    var damaged = [data.dropLast(), data.dropLast(200), data + Data("{}\n".utf8), Data()]
    // Without its trailer, without a line, with a line twice.
    damaged.append(Data(lines.dropLast(2).joined(separator: [0x0a])) + Data([0x0a]))
    damaged.append(Data((lines[..<3] + lines[4...]).joined(separator: [0x0a])))
    damaged.append(Data((lines[..<3] + lines[2...]).joined(separator: [0x0a])))
    for _ in 0..<40 {
      var flipped = data
      let place = Int.random(in: 0..<data.count, using: &generator)
      flipped[flipped.startIndex + place] ^= UInt8(1 << Int.random(in: 0..<7, using: &generator))
      damaged.append(flipped)
    }
    for data in damaged {
      let folder = try TemporaryFolder()
      do {
        _ = try Self.importExport(Data(data), into: folder)
        Issue.record("a damaged export was taken")
      } catch InspectionError.badExport {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names == ["export.jsonl"])
      }
    }
  }

  @Test func filesAnswersAndWhatIsForgottenComeAlong() async throws {
    let (scratch, source) = (
      try OutboxScratch { $0.mutationHistory.perMutation = 1 }, try ScratchFolder()
    )
    let files = [
      try source.file("a", Data("first".utf8)), try source.file("b", Data(count: 100_000)),
    ]
    var mutation = OutboxScratch.mutation()
    mutation.bodies = files
    _ = try await scratch.outbox.enqueue(mutation, claiming: true)
    var sent = [UUID]()
    for _ in 0..<20 {
      let enqueued = try await scratch.outbox.enqueue(OutboxScratch.mutation(), claiming: true)
      let lease = try #require(enqueued.lease)
      _ = try await scratch.outbox.settle(lease, OutboxScratch.success)
      sent.append(lease.entry.id)
    }
    let refused = try await scratch.outbox.enqueue(OutboxScratch.mutation(), claiming: true)
    let failure = FailedAttempt(
      error: RestoredError(typeName: "T", text: "refused"), code: 422, outcome: "permanent",
      isCharged: true, maybeApplied: false, next: .dead(.rejected),
      response: Data("too long".utf8))
    _ = try await scratch.outbox.settle(try #require(refused.lease), .failed(failure))
    let statistics = try StoreInspection(directory: URL(filePath: scratch.folder.path))
      .statistics(now: 0)
    #expect(statistics.bodies.count == 2)
    #expect(statistics.bodies.byteCount == 100_005)
    let data = try Self.export(scratch.folder.path, withOutbox: true)
    try await scratch.storage.close()

    let folder = try TemporaryFolder()
    _ = try Self.importExport(data, into: folder)
    let next = try OutboxScratch(in: folder)
    let dependant = try await next.add(after: sent)
    #expect(try next.outbox.entry(dependant)?.waitReason == nil)
    let copies = try await next.outbox.bodies(of: mutation.id)
    #expect(
      try copies.map { try Data(contentsOf: $0) } == [Data("first".utf8), Data(count: 100_000)])
    let attempts = try next.outbox.attempts(of: refused.entry.id)
    #expect(attempts.map(\.response) == [Data("too long".utf8)])
    try await next.storage.close()
  }
}
