import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Persistence §8: of a damaged outbox nothing is lost that can be read, and nothing is sent that is not
/// what was enqueued.
@Suite struct OutboxSalvageTests {
  /// An outbox of notes with long texts, closed.
  private func filled(_ count: Int) async throws -> (OutboxScratch, [UUID]) {
    let scratch = try OutboxScratch()
    var ids = [UUID]()
    for number in 0..<count {
      ids.append(try await scratch.add(String(repeating: "\(number) ", count: 1_000)))
    }
    let ended = try await scratch.outbox.enqueue(OutboxScratch.mutation("sent"), claiming: true)
    _ = try await scratch.outbox.settle(try #require(ended.lease), OutboxScratch.success)
    try await scratch.storage.close()
    return (scratch, ids)
  }

  /// Overwrites bytes of a file.
  private func overwrite(_ path: String, at offset: Int, count: Int) throws {
    let file = try #require(FileHandle(forUpdatingAtPath: path))
    defer { try? file.close() }
    try file.seek(toOffset: UInt64(offset))
    try file.write(contentsOf: Data(repeating: 0xa5, count: count))
  }

  private func setAside(_ scratch: OutboxScratch) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: scratch.folder.path)
      .filter { $0.hasPrefix("mutations.sqlite.corrupt-") && !$0.contains("-shm") }
  }

  /// What a process does before it salvages.
  private func setAside(_ scratch: OutboxScratch, _ lock: FileLock) throws {
    let files = SetAside(kind: .mutations, folder: scratch.folder.path)
    let name = try files.freeName(for: .corrupt)
    try OutboxSalvage(folder: scratch.folder.path, now: OutboxClock.system.now()).begin(name)
    try files.run(.corrupt, as: name, holding: lock)
  }

  @Test func aDamagedPageCostsNoMoreThanItsRows() async throws {
    let (scratch, ids) = try await self.filled(40)
    let size = try #require(
      try FileManager.default.attributesOfItem(atPath: scratch.path)[.size] as? Int)
    // Somewhere among the texts.
    try self.overwrite(scratch.path, at: size / 2 / 4_096 * 4_096, count: 4_096)
    let next = try OutboxScratch(in: scratch.folder)
    // The first look may be what finds the damage.
    _ = try? next.outbox.entries()
    _ = try? await next.add("new")
    let entries = try next.outbox.entries()
    let kept = Set(entries.map(\.id)).intersection(ids)
    #expect(kept.count >= 37)
    #expect(entries.map(\.number) == entries.map(\.number).sorted())
    for entry in entries where entry.state != .dead && kept.contains(entry.id) {
      let index = try #require(ids.firstIndex(of: entry.id))
      #expect(entry.arguments == Data(String(repeating: "\(index) ", count: 1_000).utf8))
    }
    try await next.storage.close()
  }

  @Test func aFileThatIsNoDatabaseIsKeptWholeAndReplaced() async throws {
    let (scratch, ids) = try await self.filled(3)
    try self.overwrite(scratch.path, at: 0, count: 100)
    // It has whole pages of what was committed last.
    try FileManager.default.removeItem(atPath: "\(scratch.path)-wal")
    let bytes = try Data(contentsOf: URL(filePath: scratch.path))
    let next = try OutboxScratch(in: scratch.folder)
    let id = try await next.add("new")
    #expect(try next.outbox.entries().map(\.id) == ids + [id])
    let name = try #require(try self.setAside(scratch).min { $0.count < $1.count })
    #expect(
      try Data(contentsOf: URL(filePath: "\(scratch.folder.path)/\(name)")) == bytes)
    #expect(!next.storage.statistics.isDegraded)
    try await next.storage.close()
  }

  @Test func whatCanBeReadOfADamagedFileIsInTheNewOne() async throws {
    let first = try OutboxScratch()
    let a = try await first.add("a", lane: "l")
    let b = try await first.add("b", lane: "l", after: [a])
    let c = try await first.add("c")
    let lease = try #require(
      try await first.outbox.claim(ClaimRequest(.mutation(c))).leases.first)
    let ended = try await first.outbox.enqueue(OutboxScratch.mutation("sent"), claiming: true)
    _ = try await first.outbox.settle(
      try #require(ended.lease),
      .succeeded(SuccessfulAttempt(result: Data("ok".utf8), aliases: ["x": "y"])))
    // The ledger of the schema is not what it should be: nothing else is wrong.
    try first.damage("DELETE FROM migrations")
    try await first.storage.close()
    #expect(lease.revocation == .lost)
    let next = try OutboxScratch(in: first.folder)
    let entries = try next.outbox.entries()
    #expect(entries.map(\.id) == [a, b, c])
    #expect(entries.map(\.number) == [1, 2, 3])
    #expect(entries.map(\.waitReason) == [nil, .predecessor, nil])
    #expect(entries[2].maybeApplied)
    #expect(try next.outbox.counts.rows == OutboxCounts(pending: 3))
    let record = try #require(
      try next.outbox.history(of: "note", instance: "[]").first { $0.number == 4 })
    #expect(record.result == Data("ok".utf8))
    #expect(try next.outbox.value(ofAlias: "x") == "y")
    let new = try await next.add("new")
    #expect(try next.outbox.entry(new)?.number == 5)
    #expect(try await next.claim(10).map(\.entry.id) == [a, new, c])
    let log = next.storage.events
    var events = log.makeAsyncIterator()
    guard case .setAside(let name, let reason)? = await events.next() else {
      Issue.record("nobody is told")
      return
    }
    #expect(name.hasPrefix("mutations.sqlite.corrupt-"))
    #expect(reason.message.contains("3 mutations and 1 ended ones were salvaged"))
    try await next.storage.close()
  }

  @Test(arguments: [true, false])
  func theAttemptsInADamagedFileAreInTheNewOne(isRetriedWithOthers: Bool) async throws {
    let first = try OutboxScratch()
    let id = try await first.add()
    let lease = try #require(try await first.claim().first)
    #expect(try await first.outbox.settle(lease, OutboxScratch.failure(.now)))
    // What it was sent with is kept with the attempt then.
    if isRetriedWithOthers {
      try await first.outbox.retry(id, withArguments: Data("others".utf8))
    }
    let attempts = try first.outbox.attempts(of: id)
    #expect(attempts.count == 1)
    try first.damage("DELETE FROM migrations")
    try await first.storage.close()
    let next = try OutboxScratch(in: first.folder)
    #expect(try next.outbox.entries().map(\.id) == [id])
    #expect(try next.outbox.attempts(of: id) == attempts)
    try await next.storage.close()
  }

  @Test func whatADamagedFileHasForgottenIsStillRemembered() async throws {
    let first = try OutboxScratch { $0.mutationHistory.perMutation = 1 }
    var ids = [UUID]()
    for number in 0..<40 {
      let enqueued = try await first.outbox.enqueue(
        OutboxScratch.mutation("\(number)"), claiming: true)
      let lease = try #require(enqueued.lease)
      _ = try await first.outbox.settle(lease, OutboxScratch.success)
      ids.append(lease.entry.id)
      // The history keeps what ended within a day.
      if number == 19 {
        try first.damage("UPDATE history SET ended_at = ended_at - 86401000000")
      }
    }
    let forgotten = try ids.filter { id in
      if case .unknown = try first.outbox.standing(of: id) { true } else { false }
    }
    #expect(forgotten.count > 10)
    try first.damage("DELETE FROM migrations")
    try await first.storage.close()
    let next = try OutboxScratch(in: first.folder)
    let dependant = try await next.add(after: forgotten)
    #expect(try next.outbox.entry(dependant)?.waitReason == nil)
    try await next.storage.close()
  }

  /// Old versions of rows stay in the log of a closed file until others take their place.
  @Test func whatADamagedFileHasForgottenIsNotSentAgain() async throws {
    let first = try OutboxScratch { $0.mutationHistory.perMutation = 1 }
    for number in 0..<40 {
      let enqueued = try await first.outbox.enqueue(
        OutboxScratch.mutation("\(number)"), claiming: true)
      _ = try await first.outbox.settle(try #require(enqueued.lease), OutboxScratch.success)
      // The history keeps what ended within a day.
      if number == 19 {
        try first.damage("UPDATE history SET ended_at = ended_at - 86401000000")
      }
    }
    let roots = try first.rows(
      "SELECT rootpage FROM sqlite_schema WHERE name IN ('outbox', 'outbox_by_id', 'outbox_leased')"
    ).compactMap { Int($0) }
    try #require(roots.count == 3)
    try await first.storage.close()
    var bytes = try Data(contentsOf: URL(filePath: first.path))
    for root in roots {
      bytes.replaceSubrange((root - 1) * 4_096..<root * 4_096, with: Data(count: 4_096))
    }
    try bytes.write(to: URL(filePath: first.path))
    let next = try OutboxScratch(in: first.folder)
    #expect(try next.outbox.entries().isEmpty)
    try await next.storage.close()
  }

  @Test func aFlippedByteIsNeverSent() async throws {
    let scratch = try OutboxScratch()
    let id = try await scratch.add("pay 1")
    let other = try await scratch.add("pay 2")
    try scratch.damage("UPDATE outbox SET arguments = CAST('pay 9' AS BLOB) WHERE number = 1")
    #expect(try await scratch.claim(10).map(\.entry.id) == [other])
    #expect(try scratch.outbox.entry(id)?.deadReason == .undecodable)
    try await scratch.storage.close()
  }

  @Test func whatAKilledProcessHasLeftToSalvageIsSalvagedNext() async throws {
    let (scratch, ids) = try await self.filled(3)
    // It has set the file aside, and not made the new one.
    let lock = FileLock(kind: .mutations, folder: scratch.folder.path)
    #expect(try lock.tryExclusive())
    try self.setAside(scratch, lock)
    lock.unlock()
    let next = try OutboxScratch(in: scratch.folder)
    _ = try await next.add("new")
    #expect(try next.outbox.entries().prefix(3).map(\.id) == ids)
    try await next.storage.close()
  }

  @Test func aNewerReleasesOutboxIsReadAndNotWritten() async throws {
    let (scratch, ids) = try await self.filled(2)
    let newer = try SQLiteConnection(path: scratch.path)
    try newer.raiseLevel(to: 9)
    try newer.close()
    let next = try OutboxScratch(in: scratch.folder)
    #expect(try next.outbox.entries().map(\.id) == ids)
    await #expect(throws: StorageError.self) { try await next.add("new") }
    #expect(try next.outbox.entries().map(\.id) == ids)
    #expect(try self.setAside(scratch).isEmpty)
    try await next.storage.close()
  }

  @Test func aLostOrDamagedCacheLeavesTheOutboxAlone() async throws {
    let first = try OutboxScratch()
    let id = try await first.add()
    let lease = try #require(try await first.claim().first)
    for name in ["cache.sqlite", "cache.sqlite-wal", "cache.sqlite-shm"] {
      try FileManager.default.removeItem(atPath: "\(first.folder.path)/\(name)")
    }
    #expect(try await first.outbox.settle(lease, OutboxScratch.failure(.now)))
    try await first.storage.close()
    try Data(repeating: 1, count: 8_192).write(
      to: URL(filePath: "\(first.folder.path)/cache.sqlite"))
    let second = try OutboxScratch(in: first.folder)
    #expect(try await second.claim().map(\.entry.id) == [id])
    try await second.storage.close()
  }
}
