import Foundation
import Observation
import TestSupport
import Testing

@testable import Query

/// Readers of one property are told of its changes, and of no others.
@Suite(.warningsAreIssues) struct ObservedPartsTests {
  /// Which of the properties of a store are announced as changed.
  private final class Reader<State: QueryStateProtocol>: Sendable {
    typealias Store = QueryStore<State>

    private let store: Store
    private let read: [String: @Sendable (Store) -> Void]

    init(of store: Store, and others: [String: @Sendable (Store) -> Void] = [:]) {
      self.store = store
      let read: [String: @Sendable (Store) -> Void] = [
        "value": { _ = $0.currentValue }, "loading": { _ = $0.isLoading },
        "error": { _ = $0.error }, "origin": { _ = $0.origin }, "state": { _ = $0.state },
      ]
      self.read = read.merging(others) { _, new in new }
    }

    /// Reads every property by itself, makes a change, and tells which of them were announced.
    func told(of change: (Store) async throws -> Void) async rethrows -> [String] {
      // Of its own: what was read before, and not announced, is still followed.
      let told = Recorder<String>()
      for (name, read) in self.read {
        withObservationTracking {
          read(self.store)
        } onChange: {
          told.append(name)
        }
      }
      try await change(self.store)
      return told.elements.sorted()
    }
  }

  @Test func aFetchIsAnnouncedPartByPart() async throws {
    let store = ScriptedQuery.store()
    let reader = Reader(of: store)
    #expect(await reader.told { _ in } == [])
    let fetch = Box<QueryTask<Int>?>(nil)
    #expect(await reader.told { fetch.value = $0.fetchTask() } == ["loading", "state"])
    // The second one changes nothing of what is read, but the tasks.
    let second = Box<QueryTask<Int>?>(nil)
    #expect(await reader.told { second.value = $0.fetchTask() } == ["state"])
    let first = try #require(fetch.value)
    #expect(
      try await reader.told { _ in _ = try await first.runIfNeeded() }
        == ["origin", "state", "value"])
    let last = try #require(second.value)
    #expect(
      try await reader.told { _ in _ = try await last.runIfNeeded() }
        == ["loading", "state", "value"])
  }

  @Test func anErrorIsAnnouncedWhenItComesChangesAndGoes() async {
    let reader = Reader(of: ScriptedQuery.store())
    #expect(await reader.told { $0.setResult(to: .failure(TestError())) } == ["error", "state"])
    #expect(await reader.told { $0.setResult(to: .failure(TestError())) } == ["error", "state"])
    #expect(await reader.told { $0.invalidate() } == ["state"])
    #expect(
      await reader.told { $0.currentValue = 1 } == ["error", "origin", "state", "value"])
    #expect(await reader.told { $0.currentValue = 2 } == ["state", "value"])
    #expect(await reader.told { $0.reset() } == ["origin", "state", "value"])
  }

  @Test func aConfirmedValueIsNoOtherValue() async throws {
    let store = ScriptedQuery.store { _, continuation in
      try continuation.unchanged()
    }
    store.currentValue = 5
    let reader = Reader(of: store)
    let told = try await reader.told { _ = try await $0.fetch() }
    #expect(told == ["loading", "origin", "state"])
    #expect(store.currentValue == 5)
  }

  @Test func aNextPageIsAnnouncedToReadersOfThePagesWhenItIsThere() async throws {
    let store = QueryStore.detached(query: CountingPages())
    let reader = Reader(of: store, and: ["next": { _ = $0.hasNextPage }])
    let task = Box<QueryTask<InfiniteQueryPage<Int, Int>?>?>(nil)
    #expect(
      await reader.told { task.value = $0.fetchNextPageTask() } == ["loading", "next", "state"])
    let fetch = try #require(task.value)
    #expect(
      try await reader.told { _ in _ = try await fetch.runIfNeeded() }
        == ["loading", "next", "origin", "state", "value"])
  }

  @Test func aStateThatComputesItsValueAnnouncesItWithEveryEvent() async throws {
    let double = BlockMutation<Int, Int>(["double"]) { number, _ in 2 * number }
    let store = QueryStore.detached(mutation: double)
    let reader = Reader(of: store)
    let told = try await reader.told { _ = try await $0.mutate(with: 2) }
    #expect(told == ["error", "loading", "origin", "state", "value"])
    #expect(store.currentValue == 4)
  }

  @Test func anEditIsAnnouncedAsAValueAndAsAPendingChange() async throws {
    let query = BlockQuery<[String]>(["notes"]) { _ in ["seen"] }.persisted()
    let add = BlockMutation<String, String>(["add"]) { note, _ in note }
      .persisted(as: "add")
      .optimistic(on: { _ in query }, { notes, note, _ in notes = (notes ?? []) + [note] })
    let client = QueryClient(storage: MemoryQueryStorage())
    try client.register(add)
    let store = client.store(for: query)
    try await store.fetch()
    let reader = Reader(
      of: store,
      and: [
        "pending": { _ = $0.pendingChanges }, "stored": { _ = $0.storedValue },
        "hasPending": { _ = $0.hasPendingChanges },
      ])
    let adding = client.store(for: add)
    let told = try await reader.told { _ in try await adding.enqueue(with: "entered") }
    #expect(store.currentValue == ["seen", "entered"])
    #expect(told == ["hasPending", "pending", "state", "stored", "value"])
    // With edits laid over it, too, a fetch that begins is no change of the value.
    let task = Box<QueryTask<[String]>?>(nil)
    #expect(await reader.told { task.value = $0.fetchTask() } == ["loading", "state"])
    #expect(
      try await reader.told { _ in _ = try await task.value?.runIfNeeded() }
        == ["loading", "state", "stored", "value"])
  }

  @Test func severalChangesUnderExclusiveAccessAreAnnouncedAtItsEnd() async {
    let reader = Reader(of: ScriptedQuery.store())
    let told = await reader.told { store in
      store.withExclusiveAccess { store in
        store.currentValue = 1
        store.setResult(to: .failure(TestError()))
      }
    }
    #expect(told == ["error", "origin", "state", "value"])
  }

  @Test func aPartThatIsReadLaterIsAnnouncedFromThenOn() {
    let store = ScriptedQuery.store()
    // Observation knows the store by its value alone.
    _ = store.currentValue
    store.setResult(to: .failure(TestError()))
    let counter = Counter()
    withObservationTracking {
      _ = store.error
    } onChange: {
      counter.increment()
    }
    store.currentValue = 1
    #expect(counter.value == 1)
  }

  @Test @MainActor func aSequenceOfValuesHasNoElementForAFetchThatBegins() async throws {
    let store = ScriptedQuery.store { _, _ in 7 }
    let reads = Recorder<Int?>()
    var values = Observations {
      let value = store.currentValue
      reads.append(value)
      return value
    }.makeAsyncIterator()
    #expect(await values.next() == .some(nil))
    let task = store.fetchTask()
    // What was announced is read before a task of this actor that was begun later.
    for _ in 0..<10 { await Task.yield() }
    #expect(reads.elements == [nil])
    #expect(try await task.runIfNeeded() == 7)
    #expect(await values.next() == .some(7))
    #expect(reads.elements == [nil, 7])
  }
}

/// Pages without an end.
private struct CountingPages: InfiniteQueryRequest, Hashable {
  var initialPageId: Int { 0 }

  func pageId(
    after page: InfiniteQueryPage<Int, Int>, using paging: InfiniteQueryPaging<Int, Int>,
    in context: QueryContext
  ) -> Int? { page.id + 1 }

  func fetchPage(
    using paging: InfiniteQueryPaging<Int, Int>, in context: QueryContext,
    with continuation: QueryContinuation<Int>
  ) async throws -> Int { paging.pageId }
}
