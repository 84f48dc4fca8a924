import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Replay §4: what a process ran that is gone is taken back, and nothing else is.
@Suite struct OutboxReapingTests {
  private let clock = BootClock()
  private static let owner = "0E9B5E0C-7C1C-4C53-9D15-0A4B1F2D3E4F"

  private func scratch() throws -> OutboxScratch {
    try OutboxScratch { $0.outboxClock = self.clock.clock }
  }

  /// Gives pending rows to another process, for a minute.
  private func leaseToOther(
    _ scratch: OutboxScratch, _ which: SQL.Words = "number > 0", start: Int? = nil
  ) throws {
    let connection = try SQLiteConnection(path: scratch.path)
    try connection.write {
      try connection.execute(
        "UPDATE outbox SET lease_started_monotonic = ? WHERE state = 'pending'", start)
    }
    try connection.close()
    try scratch.damage(
      SQL(
        assembling: """
          UPDATE outbox SET state = 'leased', lease_owner = '0E9B5E0C-7C1C-4C53-9D15-0A4B1F2D3E4F',
            lease_token = lease_token + 1, attempts = attempts + 1, lease_boot_id = 'boot-a',
            lease_end_monotonic = 1060000000 WHERE state = 'pending' AND \(which)
          """))
    try scratch.damage(
      """
      UPDATE lane_heads SET state = 'leased'
      WHERE number IN (SELECT number FROM outbox WHERE state = 'leased')
      """)
    try scratch.damage(
      """
      UPDATE partitions SET
        leased_count = (SELECT count(*) FROM outbox WHERE state = 'leased'),
        pending_count = (SELECT count(*) FROM outbox WHERE state = 'pending')
      """)
  }

  /// The lock file of the other process, locked as long as what is returned lives.
  private func lockFile(_ scratch: OutboxScratch, isLocked: Bool) throws -> FileHandle {
    let folder = "\(scratch.folder.path)/owners"
    try DatabaseFiles().makeFolder(folder)
    let path = "\(folder)/\(Self.owner)"
    try DatabaseFiles().makeFile(path)
    let file = try #require(FileHandle(forUpdatingAtPath: path))
    if isLocked { #expect(flock(file.fileDescriptor, LOCK_EX | LOCK_NB) == 0) }
    return file
  }

  @Test func anOwnerWhoseLockIsFreeHasDied() async throws {
    let scratch = try self.scratch()
    let id = try await scratch.add()
    try self.leaseToOther(scratch)
    let file = try self.lockFile(scratch, isLocked: false)
    let lease = try #require(try await scratch.claim().first)
    #expect(lease.entry.id == id)
    #expect(lease.entry.maybeApplied)
    #expect(lease.isReplay)
    #expect(try scratch.rows("SELECT crash_count FROM outbox") == ["1"])
    try file.close()
    try await scratch.storage.close()
  }

  @Test func whatItRanCanBeRetriedByAPerson() async throws {
    let scratch = try self.scratch()
    let id = try await scratch.add()
    try self.leaseToOther(scratch)
    let running = try self.lockFile(scratch, isLocked: true)
    await #expect(throws: OutboxError.running(id)) { try await scratch.outbox.retry(id) }
    try running.close()
    try await scratch.outbox.retry(id)
    let text = Data("other".utf8)
    try await scratch.outbox.retry(id, withArguments: text)
    #expect(try await scratch.claim().map(\.entry.arguments) == [text])
    try await scratch.storage.close()
  }

  @Test func theFifthCrashIsTheLast() async throws {
    let scratch = try self.scratch()
    let id = try await scratch.add()
    let file = try self.lockFile(scratch, isLocked: false)
    for crash in 1...5 {
      try self.leaseToOther(scratch)
      let answer = try await scratch.outbox.claim(ClaimRequest(.lowest(handledBy: [])))
      #expect(answer.leases.isEmpty)
      #expect(try scratch.rows("SELECT crash_count FROM outbox") == ["\(crash)"])
    }
    let entry = try #require(try scratch.outbox.entry(id))
    #expect(entry.deadReason == .crashLoop)
    try await scratch.outbox.retry(id)
    #expect(try scratch.rows("SELECT crash_count FROM outbox") == ["0"])
    try file.close()
    try await scratch.storage.close()
  }

  @Test func whatRanBesideOthersIsASuspectAndRunsAlone() async throws {
    let scratch = try self.scratch()
    let ids = [try await scratch.add(), try await scratch.add()]
    try self.leaseToOther(scratch)
    let file = try self.lockFile(scratch, isLocked: false)
    let first = try await scratch.claim(10)
    #expect(first.map(\.entry.id) == [ids[0]], "nothing else at once")
    #expect(try scratch.rows("SELECT crash_count || is_suspect FROM outbox") == ["01", "01"])
    #expect(try await scratch.claim(10).isEmpty, "nothing while it runs")
    let alone = try await scratch.outbox.enqueue(OutboxScratch.mutation("new"), claiming: true)
    #expect(alone.lease == nil)
    let only = try await scratch.outbox.claim(ClaimRequest(.mutation(alone.entry.id)))
    #expect(only.leases.isEmpty)
    #expect(try await scratch.outbox.settle(first[0], OutboxScratch.success))
    // A suspect does not begin beside what runs either, and keeps its turn.
    let new = try await scratch.claim(10)
    #expect(new.map(\.entry.id) == [alone.entry.id])
    #expect(try await scratch.claim(10).isEmpty)
    #expect(try await scratch.outbox.settle(new[0], OutboxScratch.success))
    let second = try await scratch.claim(10)
    #expect(second.map(\.entry.id) == [ids[1]])
    #expect(try await scratch.outbox.settle(second[0], OutboxScratch.failure(.now)))
    #expect(try scratch.rows("SELECT is_suspect FROM outbox") == ["0"])
    try file.close()
    try await scratch.storage.close()
  }

  /// By then a crash would not be its own: it holds back nobody any more, nor does what runs hold it back.
  @Test func aSuspectThatRunsForLongRunsBesideOthers() async throws {
    let scratch = try self.scratch()
    let ids = [try await scratch.add(), try await scratch.add()]
    try self.leaseToOther(scratch)
    let file = try self.lockFile(scratch, isLocked: false)
    let first = try await scratch.claim(10)
    #expect(first.map(\.entry.id) == [ids[0]])
    let new = try await scratch.add()
    let request = ClaimRequest(.lowest(handledBy: [OutboxScratch.handler]), limit: 10)
    let none = try await scratch.outbox.claim(request)
    // The third of a lease is how much the file may not know of.
    #expect(none.leases.isEmpty && none.nextDue == .seconds(30 + 20))
    self.clock.advance(seconds: 49)
    #expect(try await scratch.outbox.claim(request).nextDue == .seconds(1))
    self.clock.advance(seconds: 1)
    #expect(try await scratch.outbox.claim(request).leases.map(\.entry.id) == [new])
    // The other suspect waits until that has run for long, too.
    let wait = try await scratch.outbox.claim(request)
    #expect(wait.leases.isEmpty && wait.nextDue == .seconds(50))
    self.clock.advance(seconds: 50)
    #expect(try await scratch.outbox.claim(request).leases.map(\.entry.id) == [ids[1]])
    try file.close()
    try await scratch.storage.close()
  }

  /// Beside those that have run for long, one is what has crashed its process.
  @Test func whatRanAloneBesideLongOnesIsCharged() async throws {
    let scratch = try self.scratch()
    for _ in 0..<2 { try await scratch.add() }
    try self.leaseToOther(scratch, "number = 1", start: 1_060_000_000 - 90_000_000)
    try self.leaseToOther(scratch, "number = 2", start: 1_060_000_000 - 70_000_000)
    let file = try self.lockFile(scratch, isLocked: false)
    _ = try await scratch.outbox.claim(ClaimRequest(.lowest(handledBy: [])))
    #expect(
      try scratch.rows("SELECT crash_count || is_suspect FROM outbox ORDER BY number")
        == ["00", "10"])
    try file.close()
    try await scratch.storage.close()
  }

  @Test func onlyASuspectThatRanAloneIsCharged() async throws {
    let scratch = try self.scratch()
    let ids = [try await scratch.add(), try await scratch.add()]
    let file = try self.lockFile(scratch, isLocked: false)
    for _ in 0..<6 {
      try self.leaseToOther(scratch)
      _ = try await scratch.outbox.claim(ClaimRequest(.lowest(handledBy: [])))
    }
    #expect(try scratch.rows("SELECT crash_count FROM outbox") == ["0", "0"])
    for crash in 1...5 {
      try self.leaseToOther(scratch, "number = 1")
      _ = try await scratch.outbox.claim(ClaimRequest(.lowest(handledBy: [])))
      #expect(try scratch.rows("SELECT crash_count FROM outbox") == ["\(crash)", "0"])
    }
    #expect(try scratch.outbox.entry(ids[0])?.deadReason == .crashLoop)
    #expect(try scratch.outbox.entry(ids[1])?.state == .pending)
    try file.close()
    try await scratch.storage.close()
  }

  /// Five uploads that somebody stopped with Control-C have killed no process.
  @Test(arguments: [(29, "1"), (30, "0")])
  func anAttemptThatRanLongIsNotCharged(_ seconds: Int, _ count: String) async throws {
    let scratch = try self.scratch()
    try await scratch.add()
    try self.leaseToOther(scratch, start: 1_000_000_000 - seconds * 1_000_000)
    let file = try self.lockFile(scratch, isLocked: false)
    #expect(try await scratch.claim().count == 1)
    #expect(try scratch.rows("SELECT crash_count FROM outbox") == [count])
    try file.close()
    try await scratch.storage.close()
  }

  @Test func anAttemptThatEndsForgetsTheCrashes() async throws {
    let scratch = try self.scratch()
    try await scratch.add()
    try self.leaseToOther(scratch)
    let file = try self.lockFile(scratch, isLocked: false)
    let lease = try #require(try await scratch.claim().first)
    #expect(try await scratch.outbox.settle(lease, OutboxScratch.failure(.now)))
    #expect(try scratch.rows("SELECT crash_count FROM outbox") == ["0"])
    try file.close()
    try await scratch.storage.close()
  }

  @Test(arguments: [true, false])
  func aLeaseEndsByTheTimeThatTheSystemWasAwake(_ hasFile: Bool) async throws {
    let scratch = try self.scratch()
    try await scratch.add()
    try self.leaseToOther(scratch)
    let file = hasFile ? try self.lockFile(scratch, isLocked: true) : nil
    // A suspend of a day.
    self.clock.edit { time in
      time.boottime += 86_400_000_000
      time.wall += 86_400
      time.monotonic += 30_000_000
    }
    let answer = try await scratch.outbox.claim(
      ClaimRequest(.lowest(handledBy: [OutboxScratch.handler])))
    #expect(answer.leases.isEmpty)
    #expect(answer.nextDue == .seconds(30))
    self.clock.advance(seconds: 30)
    let lease = try #require(try await scratch.claim().first)
    #expect(lease.entry.maybeApplied)
    #expect(try scratch.rows("SELECT crash_count FROM outbox") == ["0"])
    try file?.close()
    try await scratch.storage.close()
  }

  @Test func aFreeLockOfAnotherBootIsNoCrash() async throws {
    let scratch = try self.scratch()
    try await scratch.add()
    try self.leaseToOther(scratch)
    let file = try self.lockFile(scratch, isLocked: false)
    self.clock.edit { $0.bootID = "boot-b" }
    #expect(try await scratch.claim().count == 1)
    #expect(try scratch.rows("SELECT crash_count FROM outbox") == ["0"])
    try file.close()
    try await scratch.storage.close()
  }

  @Test func anotherBootAloneIsNoReason() async throws {
    let scratch = try self.scratch()
    try await scratch.add()
    try self.leaseToOther(scratch)
    self.clock.edit { time in
      time.bootID = "boot-b"
      time.monotonic += 3_600_000_000
    }
    #expect(try await scratch.claim().isEmpty)
    self.clock.advance(seconds: 59)
    #expect(try await scratch.claim().isEmpty)
    // It lives, on whatever machine.
    try scratch.damage("UPDATE outbox SET lease_end_monotonic = lease_end_monotonic + 1")
    self.clock.advance(seconds: 59)
    #expect(try await scratch.claim().isEmpty)
    self.clock.advance(seconds: 60)
    #expect(try await scratch.claim().count == 1)
    try await scratch.storage.close()
  }

  @Test func whatSomebodyCancelledIsNotSentAgain() async throws {
    let scratch = try self.scratch()
    let id = try await scratch.add()
    try self.leaseToOther(scratch)
    #expect(try await !scratch.outbox.cancel(id))
    let file = try self.lockFile(scratch, isLocked: true)
    #expect(try scratch.outbox.why(id).hasSuffix("which was asked to cancel it."))
    #expect(flock(file.fileDescriptor, LOCK_UN) == 0)
    #expect(try scratch.outbox.why(id).contains("which has ended: whoever sends next ends it"))
    #expect(try await scratch.claim().isEmpty)
    let record = try scratch.outbox.history(of: "note", instance: "[]").first
    #expect(record?.state == .ended(.cancelled))
    try file.close()
    try await scratch.storage.close()
  }

  @Test(arguments: [false, true])
  func whatNobodyRunsIsCancelledAtOnce(wasAskedBefore: Bool) async throws {
    let scratch = try self.scratch()
    let id = try await scratch.add()
    try self.leaseToOther(scratch)
    let file = try self.lockFile(scratch, isLocked: true)
    if wasAskedBefore { #expect(try await !scratch.outbox.cancel(id)) }
    #expect(flock(file.fileDescriptor, LOCK_UN) == 0)
    if wasAskedBefore {
      #expect(try scratch.outbox.why(id).hasSuffix("whoever sends next ends it, as was asked."))
    }
    #expect(try await scratch.outbox.cancel(id))
    let record = try scratch.outbox.history(of: "note", instance: "[]").first
    #expect(record?.state == .ended(.cancelled))
    try file.close()
    try await scratch.storage.close()
  }

  @Test func theFilesOfOwnersThatLeftNothingAreRemoved() async throws {
    let scratch = try self.scratch()
    try await scratch.add()
    try await scratch.storage.close()
    try self.lockFile(scratch, isLocked: false).close()
    let next = try OutboxScratch(in: scratch.folder)
    try await next.add()
    let owners = try FileManager.default.contentsOfDirectory(
      atPath: "\(scratch.folder.path)/owners")
    #expect(owners.isEmpty)
    try await next.storage.close()
  }

  @Test func aKilledProcessIsKnownAtOnceAndALivingOneIsNot() async throws {
    let folder = try TemporaryFolder()
    let worker = try WorkerProcess("lease", folder.path)
    var lines = worker.lines.makeAsyncIterator()
    let line = try #require(await lines.next())
    let scratch = try OutboxScratch(in: folder)
    #expect(try await scratch.claim().isEmpty)
    let entry = try #require(try scratch.outbox.entries().first)
    #expect(line == "leased \(entry.id)")
    #expect(entry.state == .leased)
    #expect(try scratch.outbox.why(entry.id).contains("process \(worker.child.pid)"))
    worker.killNow()
    _ = await worker.waitForEnd()
    let lease = try #require(try await scratch.claim().first)
    #expect(lease.entry.id == entry.id)
    #expect(lease.entry.maybeApplied)
    #expect(try scratch.rows("SELECT crash_count FROM outbox") == ["1"])
    try await scratch.storage.close()
  }
}
