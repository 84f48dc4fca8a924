import FoundationEssentials
import TestSupport
import Testing

@testable import Query

/// Pages that were asked for before something that has changed the list.
@Suite(.warningsAreIssues) struct OutdatedPagesTests {
  private let storage = MemoryQueryStorage()

  private var context: QueryContext {
    var context = QueryContext()
    context.queryStorage = self.storage
    return context
  }

  enum Kind: CaseIterable, Sendable { case next, previous }

  private func fetch(_ kind: Kind, of store: QueryStore<TestPagesState>) async throws -> TestPage? {
    switch kind {
    case .next: try await store.fetchNextPage()
    case .previous: try await store.fetchPreviousPage()
    }
  }

  /// Of two calls for the same page the later one, behind an invalidation, is answered first.
  @Test(arguments: Kind.allCases, [0, 1, 2])
  func aPageFromBeforeAnInvalidationReplacesNoneFromBehindIt(_ kind: Kind, loaded: Int) async throws
  {
    let (early, late) = (Gate(), Gate())
    let query = PagesQuery { call in
      switch call.index - loaded {
      case 0: try await early.pass()
      case 1: try await late.pass()
      default: return call.id * 10
      }
      return call.index - loaded + 1
    }
    .persisted()
    let store = QueryStore.detached(query: query, initialContext: self.context)
    try await store.load(loaded)
    async let first = self.fetch(kind, of: store)
    await early.arrival()
    store.invalidate()
    async let second = self.fetch(kind, of: store)
    await late.arrival()
    late.open()
    let page = try #require(try await second)
    early.open()
    #expect(try await first == TestPage(id: page.id, value: 1), "its caller has its answer")
    #expect(store.currentValue[id: page.id]?.value == 2)
    try await self.storage.flush()
    let next = QueryStore.detached(query: query, initialContext: self.context)
    await next.hydrated()
    #expect(next.currentValue == store.currentValue)
  }

  /// What the refetch had replaced before the edit is not what it replaces behind it.
  @Test(arguments: [true, false])
  func whatASetListIsKeptWithIsNotWhatTheServersWas(isBeforePageEnds: Bool) async throws {
    let (inPage, ended) = (Gate(), Gate())
    let query = PagesQuery { call in
      switch call.index {
      case 0, 1: return call.continuation.returning(call.id * 10, metadata: Data("old".utf8))
      case 2:
        call.continuation.yield(-1)
        try await inPage.pass()
        return call.continuation.returning(11, metadata: Data("new".utf8))
      case 3:
        try await ended.pass()
        call.continuation.yield(-2)
        throw TestError()
      default:
        #expect(call.context.storedValue?.metadata == nil)
        throw TestError()
      }
    }
    let store = QueryStore.detached(query: query)
    try await store.load(2)
    let refetch = Task { try await store.fetchAllPages() }
    await inPage.arrival()
    if isBeforePageEnds { store.currentValue[id: 1]?.value = 5 }
    inPage.open()
    await ended.arrival()
    if !isBeforePageEnds { store.currentValue[id: 1]?.value = 5 }
    ended.open()
    await #expect(throws: TestError.self) { try await refetch.value }
    await #expect(throws: TestError.self) { try await store.fetchAllPages() }
  }
}
