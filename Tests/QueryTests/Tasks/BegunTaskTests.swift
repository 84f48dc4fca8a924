import Dispatch
import Foundation
import TestSupport
import Testing

@testable import Query

/// Work that begins on the thread of its caller, before that has the handle of its task.
@Suite(.warningsAreIssues) struct BegunTaskTests {
  /// Lets work that waits for nothing meet a cancellation.
  private final class Meeting: Sendable {
    private let hasBegun = DispatchSemaphore(value: 0)
    private let isCancelled = DispatchSemaphore(value: 0)

    /// What the work does: it says whether it has noticed the cancellation.
    func work() -> Bool {
      self.hasBegun.signal()
      self.isCancelled.wait()
      return Task.isCancelled
    }

    /// Cancels, from a thread of its own, once the work has begun.
    func cancel(_ cancel: @escaping @Sendable () -> Void) {
      Thread.detachNewThread {
        self.hasBegun.wait()
        cancel()
        self.isCancelled.signal()
      }
    }
  }

  private static func store(
    _ noticed: Locked<Bool>, _ meeting: Meeting, isShared: Bool
  ) -> QueryStore<QueryState<Int?, Int>> {
    let query = BlockQuery(["a"]) { (_: QueryContext) in
      let hasNoticed = meeting.work()
      noticed.withLock { $0 = hasNoticed }
      return 1
    }
    return isShared
      ? .detached(query: query.deduplicated(), initialValue: nil)
      : .detached(query: query, initialValue: nil)
  }

  @Test(arguments: [false, true])
  func workThatWaitsForNothingNoticesThatItsCallerWasCancelled(isShared: Bool) async {
    let (meeting, noticed) = (Meeting(), Locked(false))
    let store = Self.store(noticed, meeting, isShared: isShared)
    let caller = Task { try await store.fetch() }
    meeting.cancel { caller.cancel() }
    await #expect(throws: CancellationError.self) { try await caller.value }
    #expect(noticed.withLock { $0 })
  }

  @Test(arguments: [false, true]) @MainActor
  func workOnAnActorThatWaitsForNothingNoticesThatItsCallerWasCancelled(isShared: Bool) async {
    let (meeting, noticed) = (Meeting(), Locked(false))
    let store = Self.store(noticed, meeting, isShared: isShared)
    let caller = Task { @MainActor in try await store.fetch() }
    meeting.cancel { caller.cancel() }
    await #expect(throws: CancellationError.self) { try await caller.value }
    #expect(noticed.withLock { $0 })
  }

  @Test func workThatWaitsForNothingNoticesThatItsTaskWasCancelled() async {
    let (meeting, noticed) = (Meeting(), Locked(false))
    let store = Self.store(noticed, meeting, isShared: false)
    let task = store.fetchTask()
    meeting.cancel { task.cancel() }
    await #expect(throws: CancellationError.self) { try await task.runIfNeeded() }
    #expect(noticed.withLock { $0 })
  }

  /// The work of a fetch runs on the thread of its caller until it waits.
  @Test func aFetchBeginsOnTheThreadOfItsCaller() async throws {
    let thread = Locked<pthread_t?>(nil)
    let store = QueryStore.detached(
      query: BlockQuery(["a"]) { (_: QueryContext) in
        thread.withLock { $0 = pthread_self() }
        return 1
      }.deduplicated(), initialValue: nil)
    let caller = Task {
      // The call is made without a change of threads.
      let own = pthread_self()
      _ = try await store.fetch()
      return own
    }
    let own = try await caller.value
    #expect(thread.withLock { $0 } == own)
  }

  /// Each of them waits for the next one: if they all ran on one stack, it would overflow.
  @Test func aChainOfFetchesOfAnyLengthRuns() async throws {
    let length = 5_000
    let stores = Locked([QueryStore<QueryState<Int?, Int>>]())
    for number in 0..<length {
      let query = BlockQuery(["chain", number]) { (_: QueryContext) in
        guard number > 0 else { return 0 }
        return try await stores.withLock { $0[number - 1] }.fetch() + 1
      }
      stores.withLock { $0.append(.detached(query: query, initialValue: nil)) }
    }
    let last = try #require(stores.withLock { $0.last })
    #expect(try await last.fetch() == length - 1)
  }

  /// The same of tasks that belong to no store.
  @Test func aChainOfTasksOfAnyLengthRuns() async throws {
    #expect(try await Self.chain(20_000).runIfNeeded() == 20_000)
  }

  private static func chain(_ length: Int) -> QueryTask<Int> {
    QueryTask(context: QueryContext()) { _, _ in
      length == 0 ? 0 : try await Self.chain(length - 1).runIfNeeded() + 1
    }
  }
}
