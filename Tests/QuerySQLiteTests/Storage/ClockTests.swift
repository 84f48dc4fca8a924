import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Reliability, "clocks": the wall clock jumps back a year, forward ten, and back. Entries are fetched
/// again once, nothing is pinned, and nothing expires wrongly.
@Suite struct ClockTests {
  private static let year: TimeInterval = 365 * 86_400

  /// A query whose value is fresh for a minute, and the count of its fetches.
  private struct FreshText: QueryRequest, Hashable {
    let fetches: FetchCount
    var path: QueryPath { ["fresh"] }

    func fetch(
      in context: QueryContext,
      with continuation: QueryContinuation<String>
    ) async throws -> String {
      "fetch \(self.fetches.counter.increment())"
    }
  }

  private final class FetchCount: Hashable, Sendable {
    let counter = Counter()

    static func == (lhs: FetchCount, rhs: FetchCount) -> Bool { lhs === rhs }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
  }

  /// Launches the program, and fetches if the value is stale.
  ///
  /// - Returns: The value that was there at first, and whether it was stale.
  private func launch(
    _ clock: TestClock,
    _ fetches: FetchCount,
    maxAge: Duration? = nil,
    in folder: TemporaryFolder
  ) async throws -> (text: String?, isStale: Bool) {
    var context = QueryContext()
    context.queryClock = clock
    let trial = try StorageTrial(in: folder.path, context: context)
    let store = trial.client.store(
      for: FreshText(fetches: fetches).stale(after: 60)
        .persisted(PersistenceOptions(maxAge: maxAge)))
    await store.hydrated()
    let (text, isStale) = (store.currentValue, store.isStale)
    if isStale { try await store.fetch() }
    #expect(!store.isStale)
    #expect(await trial.close() == nil)
    return (text, isStale)
  }

  @Test(arguments: [-year, 10 * year])
  func afterTheClockHasJumpedAnEntryIsFetchedAgainOnce(_ jump: TimeInterval) async throws {
    let folder = try TemporaryFolder()
    let (clock, fetches) = (TestClock(), FetchCount())
    #expect(try await self.launch(clock, fetches, in: folder) == (nil, true))
    #expect(try await self.launch(clock, fetches, in: folder) == ("fetch 1", false))
    clock.advance(by: jump)
    #expect(try await self.launch(clock, fetches, in: folder) == ("fetch 1", true))
    clock.advance(by: 10)
    #expect(try await self.launch(clock, fetches, in: folder) == ("fetch 2", false))
    clock.advance(by: -jump)
    #expect(try await self.launch(clock, fetches, in: folder) == ("fetch 2", true))
    #expect(try await self.launch(clock, fetches, in: folder) == ("fetch 3", false))
  }

  @Test func whatAWrongClockCallsExpiredIsThereWhenTheClockIsRightAgain() async throws {
    let folder = try TemporaryFolder()
    let (clock, fetches) = (TestClock(), FetchCount())
    _ = try await self.launch(clock, fetches, maxAge: .seconds(3_600), in: folder)
    for jump in [10 * Self.year, -Self.year] {
      var context = QueryContext()
      clock.advance(by: jump)
      context.queryClock = clock
      let trial = try StorageTrial(in: folder.path, context: context)
      let store = trial.client.store(
        for: FreshText(fetches: fetches).stale(after: 60)
          .persisted(PersistenceOptions(maxAge: .seconds(3_600))))
      // Offline: nothing is fetched. A date in the future is not yet expired, and stale.
      #expect(store.currentValue == (jump > 0 ? nil : "fetch 1"))
      #expect(store.isStale)
      #expect(await trial.close() == nil)
      clock.advance(by: -jump)
    }
    let last = try await self.launch(clock, fetches, maxAge: .seconds(3_600), in: folder)
    #expect(last == ("fetch 1", false))
  }

  @Test func entriesWithADateInTheFutureAreNotKeptLongerThanOthers() async throws {
    let folder = try TemporaryFolder()
    for (years, names) in [(10.0, 0..<5), (0, 5..<25)] {
      var context = QueryContext()
      context.queryClock = TestClock(Date() + years * Self.year)
      let trial = try StorageTrial(in: folder.path, context: context) { $0.maximumEntries = 20 }
      let options = PersistenceOptions(maxAge: .seconds(86_400))
      for name in names {
        let client = QueryClient(storage: trial.storage, defaultContext: context)
        client.store(for: NamedText(name: "\(name)").persisted(options)).currentValue = "text"
      }
      #expect(await trial.close() == nil)
    }
    let texts = try await StorageTrial.texts((0..<25).map { "\($0)" }, in: folder.path)
    #expect((0..<5).allSatisfy { texts["\($0)"] == nil })
    #expect((10..<25).allSatisfy { texts["\($0)"] == "text" })
  }
}
