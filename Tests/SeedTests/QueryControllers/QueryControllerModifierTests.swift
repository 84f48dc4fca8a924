import Query
import TestSupport
import Testing

// Document 002, "The QueryController Modifier": block 8.

private struct QueryControllerModifier<
  Query: QueryRequest,
  Controller: QueryController<Query.State>
>: QueryModifier {
  let controller: Controller

  func setup(context: inout QueryContext, using query: Query) {
    context.queryControllers.append(self.controller)
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

private struct MyQuery: QueryRequest, Hashable {
  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<String>
  ) async throws -> String {
    "fetched"
  }
}

private final class Yielding: QueryController {
  let value: String
  let cancellations = Recorder<String>()

  init(_ value: String) { self.value = value }

  func control(with controls: QueryControls<QueryState<String?, String>>) -> QuerySubscription {
    controls.yield(self.value)
    return QuerySubscription { self.cancellations.append(self.value) }
  }
}

/// A controller of stores with another state.
private final class OfAnotherState: QueryController {
  let calls = Counter()

  func control(with controls: QueryControls<QueryState<Int?, Int>>) -> QuerySubscription {
    self.calls.increment()
    return .empty
  }
}

@Suite("Document 002: the controller modifier", .warningsAreIssues)
struct QueryControllerModifierTests {
  private typealias State = QueryState<String?, String>

  @Test("The modifier of the document does what the library's does")
  func modifier() async throws {
    let own = Yielding("own")
    let library = Yielding("library")
    let query = MyQuery()
      .modifier(QueryControllerModifier(controller: own))
      .controlled(by: library)
    var store: QueryStore<State>? = .detached(query: query, initialValue: nil)

    // The outermost controller comes first, so what the inner one yielded is the value.
    #expect(store?.currentValue == "own")
    #expect(store?.valueUpdateCount == 2)
    #expect(try await store?.fetch() == "fetched")

    store = nil
    #expect(own.cancellations.elements == ["own"])
    #expect(library.cancellations.elements == ["library"])
  }

  @Test("A store finds the controllers that its context holds, and skips those of other states")
  func contextControllers() throws {
    let inContext = Yielding("context")
    let other = OfAnotherState()
    var context = QueryContext()
    context.queryControllers = [inContext, other]
    let store = QueryStore.detached(query: MyQuery(), initialValue: nil, initialContext: context)

    #expect(store.currentValue == "context")
    #expect(other.calls.value == 0)
    #expect(store.context.queryControllers.count == 2)
  }
}
