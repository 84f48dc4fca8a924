import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

// MARK: - Which of two answers stays

/// A request that waits for its answer.
private final class Asking: Sendable {
  private let begins = Gate()
  private let lands = Gate()
  private let answer: Int?

  /// - Parameter answer: The answer; nil: an error.
  init(_ answer: Int?) { self.answer = answer }

  var query: some QueryRequest<Int, QueryState<Int?, Int>> {
    StoredQuery {
      self.begins.open()
      try await self.lands.pass()
      guard let answer = self.answer else { throw TestError() }
      return answer
    }.stale(after: 1_000).persisted()
  }

  /// Asks in a store of its query, and does not wait for the answer.
  func ask(_ store: QueryStore<QueryState<Int?, Int>>) async throws -> Task<Int, any Error> {
    let task = Task { try await store.fetch() }
    try await self.begins.pass()
    return task
  }

  /// Lets the answer come.
  func land(_ task: Task<Int, any Error>) async {
    self.lands.open()
    _ = await task.result
  }
}

/// An answer that is under way, while a newer one has come to another store.
private struct Overtaken {
  let store: QueryStore<QueryState<Int?, Int>>
  let newerStore: QueryStore<QueryState<Int?, Int>>
  private let older = Asking(1)
  private let task: Task<Int, any Error>

  /// Asks in a client, invalidates, and asks in another client, whose answer comes.
  ///
  /// - Parameter invalidator: The client that invalidates.
  init(
    in client: QueryClient, by other: QueryClient, invalidator: QueryClient,
    whenInvalidated: () async throws -> Void
  ) async throws {
    let newer = Asking(2)
    self.store = client.store(for: self.older.query)
    self.newerStore = other.store(for: newer.query)
    self.task = try await self.older.ask(self.store)
    invalidator.invalidate(matching: self.older.query.path)
    try await whenInvalidated()
    await newer.land(try await newer.ask(self.newerStore))
  }

  /// Lets the older answer come.
  func land() async { await self.older.land(self.task) }
}

extension StorageContractTests {
  private static let plain = StoredQuery { 9 }.stale(after: 1_000).persisted()

  /// In the store that invalidates, or in another one.
  @Test(arguments: Self.pairs, [false, true])
  func noAnswerFromBeforeAnInvalidationReplacesOneFromAfterIt(
    _ pair: (StorageUnderTest, Bool), _ isInvalidatedByTheOther: Bool
  ) async throws {
    let (first, second, one, other) = try self.pair(pair.0, pair.1)
    first.client().store(for: Self.plain).currentValue = 0
    try await first.storage.flush()
    let answers = try await Overtaken(
      in: one, by: other, invalidator: isInvalidatedByTheOther ? other : one
    ) {
      try await first.storage.flush()
      try await second.storage.flush()
    }
    try await second.storage.flush()
    await answers.land()
    let last = try await self.last(first, second).store(for: Self.plain)
    #expect(last.currentValue == 2)
    #expect(!last.isInvalidated)
    #expect(!last.isStale)
  }

  /// Nor if both wait to be written.
  @Test(arguments: StorageUnderTest.allCases)
  func noAnswerFromBeforeReplacesOneFromAfterThatWaits(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let other = device.client()
    let answers = try await Overtaken(in: device.client(), by: other, invalidator: other) {}
    await answers.land()
    try await device.relaunch()
    let last = device.client().store(for: Self.plain)
    #expect(last.currentValue == 2)
    #expect(!last.isInvalidated)
  }

  @Test(arguments: Self.pairs)
  func aFailureInvalidatesNoAnswerFromAfterTheInvalidation(
    _ pair: (StorageUnderTest, Bool)
  ) async throws {
    let (first, second, one, other) = try self.pair(pair.0, pair.1)
    one.store(for: Self.plain).currentValue = 0
    try await first.storage.flush()
    let (failing, newer) = (Asking(nil), Asking(2))
    let third = first.client()
    let (store, otherStore) = (third.store(for: failing.query), other.store(for: newer.query))
    store.invalidate()
    try await first.storage.flush()
    let failure = try await failing.ask(store)
    let after = try await newer.ask(otherStore)
    await newer.land(after)
    try await second.storage.flush()
    await failing.land(failure)
    let last = try await self.last(first, second).store(for: Self.plain)
    #expect(last.currentValue == 2)
    #expect(!last.isInvalidated)
  }

  /// A page that is added is of the list that the store has, not of the newer one.
  @Test(arguments: Self.pairs)
  func aPageOfAListFromBeforeReplacesNoListFromAfter(
    _ pair: (StorageUnderTest, Bool)
  ) async throws {
    let (first, second, one, other) = try self.pair(pair.0, pair.1)
    let query = NumberPages().persisted()
    let store = one.store(for: query)
    try await store.fetchNextPage()
    try await store.fetchNextPage()
    try await first.storage.flush()
    let otherStore = other.store(for: query)
    otherStore.invalidate()
    try await second.storage.flush()
    try await otherStore.fetchAllPages()
    try await otherStore.fetchNextPage()
    try await otherStore.fetchNextPage()
    try await second.storage.flush()
    try await store.fetchNextPage()
    let last = try await self.last(first, second).store(for: query)
    #expect(last.currentValue.map(\.id) == [0, 1, 2, 3])
    #expect(!last.isInvalidated)
  }

  /// Of the invalidation that it answers the store knows, though that was after the launch.
  @Test(arguments: Self.pairs)
  func aPageIsAddedToAListThatAnswersAnInvalidation(_ pair: (StorageUnderTest, Bool)) async throws {
    let (first, second, one, other) = try self.pair(pair.0, pair.1)
    let query = NumberPages().persisted()
    let store = one.store(for: query)
    try await store.fetchNextPage()
    store.invalidate()
    try await first.storage.flush()
    try await store.fetchAllPages()
    try await first.storage.flush()
    try await other.store(for: query).fetchNextPage()
    let last = try await self.last(first, second).store(for: query)
    #expect(last.currentValue.map(\.id) == [0, 1])
    #expect(!last.isInvalidated)
    try await last.fetchNextPage()
    let next = try await self.last(first, first).store(for: query)
    #expect(next.currentValue.map(\.id) == [0, 1, 2])
    #expect(!next.isInvalidated)
  }

  /// Nor if all of that waits to be written, with a value that was set by hand.
  @Test(arguments: StorageUnderTest.allCases)
  func noAnswerFromBeforeReplacesWhatIsSetByHandAfterAnInvalidation(
    _ kind: StorageUnderTest
  ) async throws {
    let device = try Device(kind)
    let older = Asking(1)
    let store = device.client().store(for: older.query)
    let before = try await older.ask(store)
    device.client().store(for: Self.plain).invalidate()
    device.client().store(for: Self.plain).currentValue = 2
    await older.land(before)
    try await device.relaunch()
    #expect(device.client().store(for: Self.plain).currentValue == 2)
  }

  /// What the store had before it asked.
  enum Before: String, CaseIterable, CustomTestStringConvertible {
    case edit
    case reset
    case value

    var testDescription: String { self.rawValue }
  }

  /// A query that yields 7, and then waits.
  private func yielding(
    _ yields: Gate, _ lands: Gate
  ) -> some QueryRequest<Int, QueryState<Int?, Int>> {
    StoredQuery { continuation in
      try await yields.pass()
      continuation.yield(7)
      try await lands.pass()
      throw TestError()
    }.persisted()
  }

  /// A yield is an answer as a returned value is.
  @Test(arguments: Self.pairs, Before.allCases)
  func noYieldFromBeforeAnInvalidationReplacesAnAnswerFromAfterIt(
    _ pair: (StorageUnderTest, Bool), _ before: Before
  ) async throws {
    let (first, second, one, other) = try self.pair(pair.0, pair.1)
    let (yields, lands) = (Gate(), Gate())
    let otherStore = other.store(for: Self.plain)
    otherStore.currentValue = 0
    try await second.storage.flush()
    let store = one.store(for: self.yielding(yields, lands))
    switch before {
    case .edit: store.currentValue = 1
    case .reset: store.reset()
    case .value: break
    }
    try await first.storage.flush()
    let fetch = Task { try await store.fetch() }
    await yields.arrival()
    otherStore.invalidate()
    try await second.storage.flush()
    try await otherStore.fetch()
    try await second.storage.flush()
    yields.open()
    await lands.arrival()
    lands.open()
    _ = await fetch.result
    let last = try await self.last(first, second).store(for: Self.plain)
    #expect(last.currentValue == 9)
    #expect(!last.isInvalidated)
  }

  @Test(arguments: Self.pairs)
  func aYieldFromAfterAnInvalidationIsStored(_ pair: (StorageUnderTest, Bool)) async throws {
    let (first, second, one, other) = try self.pair(pair.0, pair.1)
    let (yields, lands) = (Gate(), Gate())
    let store = one.store(for: self.yielding(yields, lands))
    store.currentValue = 1
    try await first.storage.flush()
    other.invalidate(matching: Self.plain.path)
    try await second.storage.flush()
    try await other.store(for: Self.plain).fetch()
    try await second.storage.flush()
    let fetch = Task { try await store.fetch() }
    yields.open()
    await lands.arrival()
    lands.open()
    _ = await fetch.result
    let last = try await self.last(first, second).store(for: Self.plain)
    #expect(last.currentValue == 7)
  }

  @Test(arguments: Self.pairs)
  func aPageOfAListThatWasSetByHandReplacesNoListFromAfterAnInvalidation(
    _ pair: (StorageUnderTest, Bool)
  ) async throws {
    let (first, second, one, other) = try self.pair(pair.0, pair.1)
    let query = NumberPages().persisted()
    let store = one.store(for: query)
    try await store.fetchNextPage()
    store.currentValue[id: 0]?.value = "edited"
    try await first.storage.flush()
    let otherStore = other.store(for: query)
    otherStore.invalidate()
    try await second.storage.flush()
    try await otherStore.fetchAllPages()
    try await second.storage.flush()
    try await store.fetchNextPage()
    let last = try await self.last(first, second).store(for: query)
    #expect(last.currentValue.map(\.value) == ["page 0"])
    #expect(!last.isInvalidated)
  }

  /// A store that follows other processes shows then what is stored.
  @Test func aStoreThatFollowsShowsTheNewerAnswer() async throws {
    var settings = Device.Settings()
    settings.followsOtherProcesses = true
    let first = try Device(.sqlite, settings)
    let second = try Device(.sqlite, settings, folder: first.folder)
    let other = second.client()
    let answers = try await Overtaken(in: first.client(), by: other, invalidator: other) {
      try await second.storage.flush()
    }
    try await second.storage.flush()
    let isShown = Gate()
    let subscription = answers.store.subscribe {
      if $0.currentValue == 2, !$0.isInvalidated { isShown.open() }
    }
    defer { subscription.cancel() }
    await answers.land()
    try await isShown.pass()
    #expect(!answers.store.isStale)
  }
}
