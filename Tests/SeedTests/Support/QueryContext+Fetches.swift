import Query
import TestSupport

extension QueryContext {
  /// Counts the work of the documents' requests that have no place for a counter.
  var fetches: Counter {
    get { self[FetchesKey.self] }
    set { self[FetchesKey.self] = newValue }
  }

  private enum FetchesKey: Key {
    static var defaultValue: Counter { Counter() }
  }
}

/// Counts how often the setup of a query runs.
struct SetupCounting<Query: QueryRequest>: QueryModifier {
  let setups: Counter

  func setup(context: inout QueryContext, using query: Query) {
    self.setups.increment()
    query.setup(context: &context)
  }

  func fetch(
    in context: QueryContext,
    using query: Query,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value {
    try await query.fetch(in: context, with: continuation)
  }
}
