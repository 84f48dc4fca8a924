import Foundation
import Query
import TestSupport
import Testing

// Document 003, "Setting Up the Context": blocks 4 and 5.

// MARK: - Block 4

private struct DelayModifier<Query: QueryRequest>: QueryModifier {
  let seconds: TimeInterval

  func setup(context: inout QueryContext, using query: Query) {
    context.queryDelay = seconds
    query.setup(context: &context)
  }

  func fetch(
    in context: QueryContext,
    using query: Query,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value {
    try await context.queryDelayer.delay(for: context.queryDelay)
    return try await query.fetch(in: context, with: continuation)
  }
}

extension QueryContext {
  fileprivate var queryDelay: TimeInterval {
    get { self[QueryDelayKey.self] }
    set { self[QueryDelayKey.self] = newValue }
  }

  private enum QueryDelayKey: Key {
    static let defaultValue = 0.3
  }
}

extension QueryRequest {
  fileprivate func delay(
    for seconds: TimeInterval
  ) -> ModifiedQuery<Self, some QueryModifier<Self>> {
    self.modifier(DelayModifier(seconds: seconds))
  }
}

// MARK: - Block 5

private struct SomeQuery: QueryRequest, Hashable {
  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Int>
  ) async throws -> Int {
    1
  }
}

@Suite("Document 003: a modifier that sets the context up", .warningsAreIssues)
struct OverridableDelayModifierTests {
  private let client = QueryClient()
  private let delayer = RecordingDelayer()

  @Test("A value that a modifier set can be overridden after the store was made")
  func override() async throws {
    let query = SomeQuery().delay(for: 1)
    let store = client.store(for: query)
    store.context.queryDelay = 0

    store.context.queryDelayer = self.delayer
    try await store.fetch()
    #expect(self.delayer.delays == [0])
  }

  @Test("The setup of the modifier runs once, and its value holds where none overrides it")
  func setup() async throws {
    let setups = Counter()
    let query = SomeQuery().delay(for: 1).modifier(SetupCounting(setups: setups))
    let store = QueryStore.detached(query: query, initialValue: nil)
    #expect(QueryContext().queryDelay == 0.3)
    #expect(store.context.queryDelay == 1)

    store.context.queryDelayer = self.delayer
    try await store.fetch()
    try await store.fetch()
    #expect(self.delayer.delays == [1, 1])
    #expect(setups.value == 1)
  }
}
