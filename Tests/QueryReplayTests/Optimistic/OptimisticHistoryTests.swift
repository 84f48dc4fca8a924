import Foundation
import QuerySQLite
import TestSupport
import Testing

@testable import Query

/// The history keeps what a stored value lacks, and the index no more than values need.
@Suite(.warningsAreIssues) struct OptimisticHistoryTests {
  private let folder: ScratchFolder
  private let server = NotesServer()
  private let clock = WallClock()

  init() throws { self.folder = try ScratchFolder() }

  /// A clock whose wall time a test moves, in both directions.
  private final class WallClock: Sendable {
    private let wall = Locked(Date(timeIntervalSince1970: 1_700_000_000))

    func move(by duration: TimeInterval) { self.wall.withLock { $0 += duration } }

    var outboxClock: OutboxClock {
      OutboxClock {
        var time = OutboxClock.system.now()
        (time.wall, time.isSynchronised) = (self.wall.withLock { $0 }, true)
        return time
      }
    }
  }

  private static let day: TimeInterval = 86_400

  private func storage(
    _ kind: StorageKind, _ limits: MutationHistoryLimits = MutationHistoryLimits()
  ) throws -> any QueryStorage {
    switch kind {
    case .memory:
      return MemoryQueryStorage(historyLimits: limits, outboxClock: self.clock.outboxClock)
    case .sqlite:
      var configuration = SQLiteQueryStorage.Configuration()
      configuration.mutationHistory = limits
      configuration.outboxClock = self.clock.outboxClock
      return try SQLiteQueryStorage(directory: self.folder.url, configuration: configuration)
    }
  }

  private let change = ChangeNote().persisted(as: "change-note", .init(scope: .by { $0.id }))
    .optimistic(
      on: { _ in NotesQuery() },
      { notes, change, _ in
        change.apply(to: &notes, default: [])
      })

  private var list: some QueryRequest<[Note], QueryState<[Note]?, [Note]>> {
    NotesQuery { [server] _ in server.list }.persisted()
  }

  private func client(_ storage: any QueryStorage) throws -> QueryClient {
    let client = QueryClient.toldByHand(storage)
    try client.register(self.change)
    return client
  }

  private func enter(
    _ numbers: Range<Int>, in client: QueryClient, _ storage: any QueryStorage
  ) async throws {
    let changes = client.store(for: self.change)
    for number in numbers {
      let id = try await changes.enqueue(with: NoteChange(id: "\(1_000 + number)", text: "x")).id
      try await storage.outbox.deliver(id, to: self.server)
    }
  }

  /// How many successes the history has.
  private func kept(_ storage: any QueryStorage) throws -> Int {
    let handler = MutationHandler(
      name: "change-note", instance: #"["change-note"]"#, version: 1, upgradesOlder: false)
    return try storage.outbox.log(of: [handler], endedAfter: 0).records.count
  }

  @Test(arguments: StorageKind.allCases)
  func whatAValueLacksIsKeptForDaysAndGoesOnceItHasIt(_ kind: StorageKind) async throws {
    let storage = try self.storage(kind)
    let notes = try self.client(storage).store(for: self.list)
    try await notes.fetch()
    try await storage.flush()
    // Another process sends, which has no store of the list.
    let sender = try self.client(storage)
    try await self.enter(0..<100, in: sender, storage)
    self.clock.move(by: 3 * Self.day)
    try await self.enter(100..<120, in: sender, storage)
    #expect(try self.kept(storage) == 120)
    let shown = try self.client(storage).store(for: self.list)
    #expect(shown.currentValue == self.server.list)
    // A value that has them lets them go, though not at once.
    try await shown.fetch()
    try await storage.flush()
    self.clock.move(by: 3 * Self.day)
    var number = 120
    while try self.kept(storage) > 70, number < 2_000 {
      self.clock.move(by: 120)
      try await self.enter(number..<number + 1, in: sender, storage)
      number += 1
      try await storage.flush()
    }
    #expect(try self.kept(storage) <= 70)
    let next = try self.client(storage).store(for: self.list)
    #expect(next.currentValue == self.server.list)
  }

  @Test(arguments: StorageKind.allCases)
  func aValueIsFetchedAgainThatLacksMoreThanTheHistoryHas(_ kind: StorageKind) async throws {
    let storage = try self.storage(kind, MutationHistoryLimits(perMutation: 0, total: 20, days: 0))
    let notes = try self.client(storage).store(for: self.list)
    try await notes.fetch()
    try await storage.flush()
    try await self.enter(0..<40, in: self.client(storage), storage)
    #expect(try self.kept(storage) < 40)
    // The outbox tells the cache after its commit.
    var next = try self.client(storage).store(for: self.list)
    for _ in 0..<1_000 where !next.isInvalidated {
      try await storage.flush()
      next = try self.client(storage).store(for: self.list)
    }
    #expect(next.isInvalidated)
    try await next.fetch()
    #expect(next.currentValue == self.server.list)
  }

  @Test(arguments: StorageKind.allCases)
  func aValueThatHasAllIsNotFetchedAgain(_ kind: StorageKind) async throws {
    let storage = try self.storage(kind, MutationHistoryLimits(perMutation: 0, total: 20, days: 0))
    let client = try self.client(storage)
    let notes = client.store(for: self.list)
    try await notes.fetch()
    for number in 0..<40 {
      try await self.enter(number..<number + 1, in: client, storage)
      client.optimistic.read()
      try await storage.flush()
    }
    #expect(try self.kept(storage) < 40)
    try await storage.flush()
    #expect(notes.storedValue == self.server.list)
    #expect(try !self.client(storage).store(for: self.list).isInvalidated)
  }

  @Test(arguments: StorageKind.allCases, [-400 * Self.day, 20 * Self.day])
  func aClockThatJumpsChangesNoOrder(_ kind: StorageKind, _ jump: TimeInterval) async throws {
    let storage = try self.storage(kind)
    let client = try self.client(storage)
    let notes = client.store(for: self.list)
    try await notes.fetch()
    let changes = client.store(for: self.change)
    let first = try await changes.enqueue(with: NoteChange(id: "a", text: "1")).id
    self.clock.move(by: jump)
    let second = try await changes.enqueue(with: NoteChange(id: "a", text: "2")).id
    try await storage.outbox.deliver(first, to: self.server)
    client.optimistic.read()
    #expect(notes.currentValue == [Note(id: "a", text: "2")])
    self.clock.move(by: -jump)
    try await changes.enqueue(with: NoteChange(id: "a", text: "3"))
    #expect(notes.currentValue == [Note(id: "a", text: "3")])
    #expect(notes.pendingChanges.count == 2)
    try await storage.flush()
    let next = try self.client(storage).store(for: self.list)
    #expect(next.currentValue == [Note(id: "a", text: "3")])
    self.clock.move(by: jump)
    try await storage.outbox.deliver(second, to: self.server)
    client.optimistic.read()
    #expect(notes.currentValue == [Note(id: "a", text: "3")])
  }

  @Test func theIndexForgetsWhatEveryValueHas() async throws {
    let storage = MemoryQueryStorage()
    let client = try self.client(storage)
    let (reading, landing) = (Gate(), Gate())
    let isHeld = Locked(false)
    let notes = client.store(
      for: NotesQuery { [server] _ in
        guard isHeld.withLock({ $0 }) else { return server.list }
        try await reading.pass()
        let answer = server.list
        try await landing.pass()
        return answer
      }.persisted())
    try await notes.fetch()
    func rows() -> Int { client.optimistic.guarded.withLock { $0.rows.count } }
    for number in 0..<300 {
      try await self.enter(number..<number + 1, in: client, storage)
      client.optimistic.read()
    }
    #expect(rows() <= OptimisticIndex.fewAcknowledged + 1)
    // What a fetch under way may lack is kept.
    isHeld.withLock { $0 = true }
    let held = Task { try await notes.fetch() }
    await reading.arrival()
    reading.open()
    await landing.arrival()
    for number in 300..<600 {
      try await self.enter(number..<number + 1, in: client, storage)
      client.optimistic.read()
    }
    #expect(rows() >= 300)
    landing.open()
    #expect(try await held.value.count == 300)
    #expect(notes.currentValue == self.server.list)
    // And what an older value lacks is read again.
    client.optimistic.read()
    isHeld.withLock { $0 = false }
    try await notes.fetch()
    for number in 600..<1_300 {
      try await self.enter(number..<number + 1, in: client, storage)
      client.optimistic.read()
    }
    #expect(rows() <= 700)
    #expect(notes.currentValue == self.server.list)
  }

  @Test func theIndexForgetsAgainOnceItHasMoreThanTwiceWhatItKept() async throws {
    let storage = MemoryQueryStorage()
    let client = try self.client(storage)
    let landing = Gate()
    let isHeld = Locked(false)
    let notes = client.store(
      for: NotesQuery { [server] _ in
        let answer = server.list
        if isHeld.withLock({ $0 }) { try await landing.pass() }
        return answer
      }.persisted())
    try await notes.fetch()
    await client.useUpItsReading()
    func rows() -> Int { client.optimistic.guarded.withLock { $0.rows.count } }
    let few = OptimisticIndex.fewAcknowledged
    try await self.enter(0..<1, in: client, storage)
    client.optimistic.read()
    isHeld.withLock { $0 = true }
    let held = Task { try await notes.fetch() }
    await landing.arrival()
    // The fetch lacks these, so they are kept.
    try await self.enter(1..<few + 1, in: client, storage)
    client.optimistic.read()
    #expect(rows() == few)
    landing.open()
    _ = try await held.value
    try await self.enter(few + 1..<2 * few + 2, in: client, storage)
    client.optimistic.read()
    #expect(rows() == 0)
    #expect(notes.overlay?.edits.count == 0, "what the index forgets the store forgets")
  }

  @Test(arguments: StorageKind.allCases)
  func aStoreWithAnOlderValueGetsWhatTheIndexHasForgotten(_ kind: StorageKind) async throws {
    let storage = try self.storage(kind)
    try await self.client(storage).store(for: self.list).fetch()
    try await storage.flush()
    let client = try self.client(storage)
    // Its list of another path is up to date, so that the index needs nothing.
    try await self.enter(0..<200, in: client, storage)
    client.optimistic.read()
    let notes = client.store(for: self.list)
    #expect(notes.currentValue == self.server.list)
  }
}
