import CSQLite
import Foundation
import Query
import QuerySQLite

/// How long one process keeps others from writing.
enum LockRows {
  static func all(_ corpus: Corpus, live: Int) -> [Row] {
    [Self.longest(corpus, live: live), Self.reader]
  }

  private static func longest(_ corpus: Corpus, live: Int) -> Row {
    Row(
      name: "longest-hold",
      title: "longest wait for a write lock, \(corpus.count) entries, \(live) live mutations",
      goal: .atMost(50_000_000),
      floor: "nobody writes",
      lean: .absent("what the library does with many rows is its own"),
      unit: .nanoseconds
    ) {
      let chores = try await Chores(corpus, live: live)
      return Trial(
        counting: { try await chores.measure() },
        floor: { try await chores.measureIdle() },
        mostRounds: 3
      )
    }
  }

  private static let reader = Row(
    name: "enqueue-beside-reader",
    title: "enqueue, 8 processes, one reader that stays, p99",
    goal: .timesFloor(2),
    floor: "the same without the reader",
    lean: .absent("the turns that processes take are the library's"),
    unit: .nanoseconds
  ) {
    Trial(
      counting: { try await Self.enqueue(besideReader: true) },
      floor: { try await Self.enqueue(besideReader: false) },
      mostRounds: 3
    )
  }

  /// What all but one in a hundred took at most.
  @concurrent
  private static func enqueue(besideReader: Bool) async throws -> Reading {
    let folder = try Scratch.makeFolder("outbox-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    let storage = try SQLiteQueryStorage(directory: folder)
    _ = try await storage.outbox.enqueue(.note(Data("{}".utf8)), claiming: false)
    try await storage.close()
    let path = folder.appending(path: "mutations.sqlite").path
    let reader = besideReader ? try StayingReader(path: path) : nil
    let gauge = Gauge()
    let workers = try (0..<8).map { _ in
      try Worker.Running(.enqueue(folder: folder.path, count: 250))
    }
    let times = try workers.flatMap { try $0.end() }.sorted()
    try expect(times.count, 2_000, "the mutations enqueued")
    withExtendedLifetime(reader) {}
    return gauge.reading(of: times[times.count * 99 / 100], per: times.count)
  }
}

/// A connection that reads an older state and does not end.
private final class StayingReader {
  private let handle: OpaquePointer

  init(path: String) throws {
    var handle: OpaquePointer?
    guard sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK, let handle
    else { throw CheckFailure(description: "no \(path)") }
    self.handle = handle
    sqlite3_wal_autocheckpoint(handle, 0)
    let sql = "BEGIN; SELECT count(*) FROM outbox"
    try expect(sqlite3_exec(handle, sql, nil, nil, nil), SQLITE_OK, "a reader")
  }

  deinit { sqlite3_close(self.handle) }
}

// MARK: - All that changes many rows

/// A store with many rows of all kinds, and all that the library does with many of them.
private struct Chores {
  private let corpus: Corpus
  private let live: Int
  /// A folder with both databases; each round has a copy of it.
  private let model: URL

  private static let ended = 5_000
  /// As many as make the history whole: of each, 50 are kept.
  private static let instances = 100

  init(_ corpus: Corpus, live: Int) async throws {
    (self.corpus, self.live) = (corpus, live)
    self.model = try Scratch.makeFolder("chores-\(UUID())")
    try FileManager.default.copyItem(
      at: URL(filePath: try await corpus.files().cache),
      to: self.model.appending(path: "cache.sqlite"))
    let storage = try Corpus.open(self.model)
    try await self.fill(storage.outbox, Self.ended, name: "ended")
    try await Self.settle(Self.ended, storage.outbox, .succeeded(SuccessfulAttempt(result: nil)))
    try await self.fill(storage.outbox, live, name: "live")
    try await storage.close()
  }

  private func fill(_ outbox: any MutationOutbox, _ count: Int, name: String) async throws {
    let arguments = try JSONEncoder().encode(Note(0, edition: 0))
    for start in stride(from: 0, to: count, by: 1_000) {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in start..<min(start + 1_000, count) {
          group.addTask {
            let mutation = NewMutation(
              name: name, instance: "[\(number % Self.instances)]", lane: "lane-\(number % 500)",
              coder: "json",
              arguments: arguments)
            _ = try await outbox.enqueue(mutation, claiming: false)
          }
        }
        try await group.waitForAll()
      }
    }
  }

  private static func settle(
    _ count: Int, _ outbox: any MutationOutbox, _ outcome: AttemptOutcome, name: String = "ended"
  ) async throws {
    var left = count
    while left > 0 {
      let handlers = Set(
        (0..<Self.instances).map {
          MutationHandler(name: name, instance: "[\($0)]", version: 1, upgradesOlder: false)
        })
      let leases = try await outbox.claim(
        ClaimRequest(.lowest(handledBy: handlers), limit: min(left, 200))
      ).leases
      if leases.isEmpty { throw CheckFailure(description: "nothing is left to be claimed") }
      for lease in leases { _ = try await outbox.settle(lease, outcome) }
      left -= leases.count
    }
  }

  /// The longest wait while all that is done.
  @concurrent
  func measure() async throws -> Reading {
    try await self.withCopy { folder in
      let gauge = Gauge()
      let probe = try Self.probe(folder)
      try await self.work(in: folder)
      return gauge.reading(of: try probe.end().max() ?? 0)
    }
  }

  /// The longest wait while nothing is done.
  @concurrent
  func measureIdle() async throws -> Reading {
    try await self.withCopy { folder in
      let gauge = Gauge()
      let probe = try Self.probe(folder)
      try await Task.sleep(for: .seconds(1))
      return gauge.reading(of: try probe.end().max() ?? 0)
    }
  }

  private static func probe(_ folder: URL) throws -> Worker.Running {
    try Worker.Running(
      .probe(paths: ["cache", "mutations"].map { folder.appending(path: "\($0).sqlite").path }))
  }

  private func withCopy(_ body: (URL) async throws -> Reading) async throws -> Reading {
    let folder = try Scratch.makeFolder("chores-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    for name in ["cache.sqlite", "mutations.sqlite"] {
      try FileManager.default.copyItem(
        at: self.model.appending(path: name), to: folder.appending(path: name))
      // Or the first checkpoint would wait for the whole copy to reach the disk.
      let file = try FileHandle(forUpdating: folder.appending(path: name))
      try file.synchronize()
      try file.close()
    }
    return try await body(folder)
  }

  private func work(in folder: URL) async throws {
    var configuration = SQLiteQueryStorage.Configuration()
    configuration.maximumEntries = self.corpus.count
    // A release that keeps less.
    configuration.mutationHistory.total = 50
    let storage = try SQLiteQueryStorage(directory: folder, configuration: configuration)
    try await self.changeValues(storage)
    try await self.changeMutations(storage.outbox)
    try await storage.erase()
    try await storage.close()
  }

  private func changeValues(_ storage: SQLiteQueryStorage) async throws {
    let client = QueryClient.withoutObservers(storage: storage)
    let edition = self.corpus.nextEdition()
    for place in 0..<self.corpus.count / 10 {
      let number = self.corpus.number(at: place)
      client.noteStore(number).currentValue = Note(number, edition: edition)
    }
    try await storage.flush()
    client.clearStores()
    // All that is on disk, and then more than may be.
    storage.invalidate(matching: [])
    try await storage.flush()
    for number in self.corpus.count..<(self.corpus.count * 11 / 10) {
      client.noteStore(number).currentValue = Note(number, edition: edition)
      if number.isMultiple(of: 5_000) { client.clearStores() }
    }
    try await storage.flush()
    // It evicts in turns, for which flush() does not wait.
    while storage.statistics.entries > self.corpus.count {
      try await Task.sleep(for: .milliseconds(5))
    }
    if storage.statistics.evictions == 0 { throw CheckFailure(description: "nothing was evicted") }
  }

  private func changeMutations(_ outbox: any MutationOutbox) async throws {
    try await self.fill(outbox, 1_000, name: "more")
    let offline = FailedAttempt(
      error: RestoredError(typeName: "", text: ""), outcome: "connectivity", isCharged: false,
      maybeApplied: false, next: .wait(.offline, .seconds(3_600)))
    try await Self.settle(500, outbox, .failed(offline), name: "live")
    try await outbox.release(.offline)
    try await Self.settle(
      20, outbox, .succeeded(SuccessfulAttempt(result: nil)), name: "live")
    for number in 0..<Self.instances {
      try await outbox.clearHistory(of: "ended", instance: "[\(number)]")
    }
  }
}
