import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// A database file without a byte, and without a log: one that was made a moment ago, or one that
/// somebody has emptied.
@Suite struct EmptiedFileTests {
  private static let rounds = ProcessInfo.processInfo.environment["FULL"] == nil ? 3 : 200

  private static func empty(_ path: String) throws {
    for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    #expect(truncate(path, 0) == 0)
  }

  private static func setAside(_ events: [StorageEvent]) -> [StorageError] {
    events.compactMap { if case .setAside(_, let reason) = $0 { reason } else { nil } }
  }

  @Test func anOutboxThatWasInUseAndIsEmptyIsTold() async throws {
    let scratch = try OutboxScratch()
    try await scratch.add("lost")
    try await scratch.storage.close()
    try Self.empty(scratch.path)
    let next = try OutboxScratch(in: scratch.folder)
    let log = EventLog(next.storage.events)
    let new = try await next.add("new")
    #expect(try next.outbox.entries().map(\.id) == [new])
    await log.wait(\.isSetAside)
    let reasons = Self.setAside(log.events)
    #expect(reasons.count == 1)
    #expect(reasons.first?.message.contains("mutations were committed to it") == true)
    #expect(!next.storage.statistics.isDegraded)
    try await next.storage.close()
    // It is told once.
    let last = try OutboxScratch(in: scratch.folder)
    #expect(try last.outbox.entries().map(\.id) == [new])
    let lastLog = EventLog(last.storage.events)
    try await last.add("last")
    try await last.storage.close()
    #expect(Self.setAside(lastLog.events).isEmpty)
  }

  /// What was committed is in the WAL, which SQLite removes if it opens an empty file beside it.
  @Test func anOutboxThatIsEmptiedWhileTwoProcessesUseItLosesNothing() async throws {
    let scratch = try OutboxScratch {
      $0.busyTimeout = .milliseconds(500)
      $0.retryDelay = .milliseconds(5)
    }
    var ids = [UUID]()
    for _ in 0..<3 { ids.append(try await scratch.add("before")) }
    let reader = try scratch.readerThatKeepsTheLog()
    defer { try? reader.close() }
    let worker = try WorkerProcess("lease", scratch.folder.path)
    var lines = worker.lines.makeAsyncIterator()
    let line = try #require(await lines.next())
    ids.append(try #require(UUID(uuidString: String(line.dropFirst("leased ".count)))))
    #expect(truncate(scratch.path, 0) == 0)
    // Each of them may find out first; what is acknowledged meanwhile counts, too.
    var refusals = [any Error]()
    for _ in 0..<5 {
      do { ids.append(try await scratch.add("after")) } catch { refusals.append(error) }
    }
    worker.killNow()
    _ = await worker.waitForEnd()
    while scratch.storage.statistics.isDegraded { try await Task.sleep(for: .milliseconds(5)) }
    ids.append(try await scratch.add("last"))
    let found = Set(try scratch.outbox.entries().map(\.id))
    #expect(
      found == Set(ids),
      "\(ids.map { found.contains($0) }) and \(found.subtracting(ids).count) more, \(refusals)")
    try await scratch.storage.close()
    let last = try OutboxScratch(in: scratch.folder)
    #expect(Set(try last.outbox.entries().map(\.id)) == Set(ids))
    try await last.storage.close()
  }

  /// After the library has looked whether it is empty.
  @Test(arguments: [true, false])
  func anOutboxThatIsEmptiedWhileItIsOpenedKeepsItsLog(_ isWriter: Bool) async throws {
    let scratch = try OutboxScratch()
    var ids = [try await scratch.add("first")]
    // The storage's checkpoint, a second after a commit, would empty the log, or find out first: one of the two
    // is in its way all along.
    let reader = try scratch.readerThatKeepsTheLog()
    ids.append(try await scratch.add("kept"))
    let holder = try SQLiteConnection(path: scratch.path)
    _ = try holder.rowsOfText("BEGIN IMMEDIATE")
    try reader.close()
    #expect(truncate(scratch.path, 0) == 0)
    let log = scratch.path + "-wal"
    let before = try Data(contentsOf: URL(filePath: log))
    let opener = DatabaseOpener(kind: .mutations, folder: scratch.folder.path)
    let error = #expect(throws: OpeningFailure.self) {
      _ = isWriter ? try opener.openWriter() : try opener.openReader()
    }
    #expect(error?.kind == .corrupt)
    #expect(try Data(contentsOf: URL(filePath: log)) == before)
    try holder.close()
    try await scratch.storage.close()
    let last = try OutboxScratch(in: scratch.folder)
    #expect(try last.outbox.entries().map(\.id) == ids)
    try await last.storage.close()
  }

  /// Each of them may find out first, while another one commits.
  @Test(arguments: 1...Self.rounds)
  func nothingAcknowledgedIsLostWhileSeveralProcessesFindAnEmptiedOutbox(
    _ round: Int
  ) async throws {
    let scratch = try OutboxScratch()
    try await scratch.add("first")
    let reader = try scratch.readerThatKeepsTheLog()
    let workers = try (0..<3).map { _ in
      try WorkerProcess("enqueue", scratch.folder.path, "150")
    }
    var lines = workers.map { $0.lines.makeAsyncIterator() }
    var acknowledged = [String]()
    func note(_ line: String) {
      if line.hasPrefix("enqueued ") { acknowledged.append(String(line.dropFirst(9))) }
    }
    // All of them have it open.
    for index in lines.indices { note(try #require(await lines[index].next())) }
    for _ in 0..<(round % 20) { note(try #require(await lines[0].next())) }
    #expect(truncate(scratch.path, 0) == 0)
    for index in lines.indices {
      while let line = await lines[index].next() { note(line) }
    }
    try reader.close()
    for worker in workers { _ = await worker.waitForEnd() }
    try await scratch.storage.close()
    let last = try OutboxScratch(in: scratch.folder)
    let found = Set(try last.outbox.entries().map(\.id.uuidString))
    let lost = acknowledged.filter { !found.contains($0) }
    #expect(lost.isEmpty, "\(lost.count) of \(acknowledged.count)")
    try await last.storage.close()
  }

  /// As a process leaves it that is killed while it makes the first one, or a person who makes an empty
  /// file beside a cache.
  @Test(arguments: [true, false])
  func anOutboxThatWasNeverInUseIsNew(_ isBesideACache: Bool) async throws {
    let folder = try TemporaryFolder()
    if isBesideACache {
      let trial = try StorageTrial(in: folder.path)
      trial.set("a", "text")
      #expect(await trial.close() == nil)
    }
    for name in ["mutations.sqlite", "mutations.lock"] {
      try Data().write(to: URL(filePath: "\(folder.path)/\(name)"))
    }
    let scratch = try OutboxScratch(in: folder)
    let log = EventLog(scratch.storage.events)
    let id = try await scratch.add()
    #expect(try scratch.outbox.entries().map(\.id) == [id])
    try await scratch.storage.close()
    #expect(Self.setAside(log.events).isEmpty && log.health.isEmpty)
  }

  /// The power was cut in the midst of the first creation, or that of a file that was salvaged into: the journal
  /// whose removal was not on the disk has SQLite empty the database, beside a WAL that has no commit.
  @Test(arguments: [true, false])
  func anOutboxWhoseCreationThePowerCutEndsIsNew(_ wasInUse: Bool) async throws {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/mutations.sqlite"
    try Data().write(to: URL(filePath: path))
    let made = try SQLiteConnection(path: path)
    _ = try made.rowsOfText("PRAGMA journal_mode = WAL")
    try made.close()
    // Its header: magic, no record, a nonce, no page before, the sizes of a sector and of a page.
    var journal: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7, 0, 0, 0, 0, 1, 2, 3, 4]
    journal += [0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0x10, 0]
    journal += [UInt8](repeating: 0, count: 512 - journal.count)
    try Data(journal).write(to: URL(filePath: path + "-journal"))
    try Data([0x37, 0x7f, 0x06, 0x82] + [UInt8](repeating: 1, count: 28))
      .write(to: URL(filePath: path + "-wal"))
    if wasInUse {
      try FileManager.default.createDirectory(
        atPath: "\(folder.path)/owners", withIntermediateDirectories: false)
    }
    let scratch = try OutboxScratch(in: folder)
    let log = EventLog(scratch.storage.events)
    let id = try await scratch.add()
    #expect(try scratch.outbox.entries().map(\.id) == [id])
    try await scratch.storage.close()
    #expect(Self.setAside(log.events).isEmpty && log.health.isEmpty)
    let next = try OutboxScratch(in: folder)
    #expect(try next.outbox.entries().map(\.id) == [id])
    try await next.storage.close()
  }

  @Test func aCacheThatIsEmptyIsNew() async throws {
    let folder = try TemporaryFolder()
    let first = try StorageTrial(in: folder.path)
    first.set("a", "text")
    #expect(await first.close() == nil)
    try Self.empty("\(folder.path)/cache.sqlite")
    let trial = try StorageTrial(in: folder.path)
    #expect(await trial.text("a") == nil)
    trial.set("b", "text")
    #expect(await trial.close() == nil)
    #expect(trial.log.health.isEmpty)
    #expect(try await StorageTrial.texts(["a", "b"], in: folder.path) == ["b": "text"])
  }

  /// A process that has it open may have commits in the log, which SQLite removes if it opens an empty file
  /// beside it.
  @Test func theLogOfAnEmptiedFileIsLeftToWhoHasItOpen() throws {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/mutations.sqlite"
    try Data().write(to: URL(filePath: path))
    try Data("frames".utf8).write(to: URL(filePath: path + "-wal"))
    let holder = FileLock(kind: .mutations, folder: folder.path)
    try holder.lockShared()
    let writer = OutboxWriter(
      opener: DatabaseOpener(kind: .mutations, folder: folder.path),
      configuration: SQLiteQueryStorage.Configuration())
    try writer.file.lockFile()
    let error = storageError { try writer.setAsideDamagedLog() }
    #expect(error?.code == .busy)
    #expect(try Data(contentsOf: URL(filePath: path + "-wal")) == Data("frames".utf8))
    withExtendedLifetime(holder) {}
  }
}
