import Query
import TestSupport
import Testing

// Document 002, "The QueryController Modifier": block 9, the library's own property as the document
// shows it. In this file it stands before the library's, so no store reads what is set here.

extension QueryContext {
  fileprivate var queryControllers: [any QueryController] {
    get { self[QueryControllersKey.self] }
    set { self[QueryControllersKey.self] = newValue }
  }

  private enum QueryControllersKey: Key {
    static var defaultValue: [any QueryController] { [] }
  }
}

private struct MyQuery: QueryRequest, Hashable {
  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Int>
  ) async throws -> Int {
    1
  }
}

private final class MyController: QueryController {
  let calls = Counter()

  func control(with controls: QueryControls<QueryState<Int?, Int>>) -> QuerySubscription {
    self.calls.increment()
    return .empty
  }
}

@Suite("Document 002: the controllers of a context", .warningsAreIssues)
struct QueryControllersPropertyTests {
  @Test("Controllers are a property of the context like any other")
  func property() {
    var context = QueryContext()
    #expect(context.queryControllers.isEmpty)

    let controller = MyController()
    context.queryControllers.append(controller)
    #expect(context.queryControllers.map { ($0 as? MyController) === controller } == [true])
    #expect(QueryContext().queryControllers.isEmpty)

    // The library's property is another one.
    _ = QueryStore.detached(query: MyQuery(), initialValue: nil, initialContext: context)
    #expect(controller.calls.value == 0)
  }
}
