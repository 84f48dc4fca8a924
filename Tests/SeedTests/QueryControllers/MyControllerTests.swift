import Query
import TestSupport
import Testing

// Document 002, "Creating a QueryController": blocks 2 and 3.

private enum Block2 {
  final class MyController<State: QueryStateProtocol>: QueryController {
    func control(with controls: QueryControls<State>) -> QuerySubscription {
      // ...
      let fetches = controls.context.fetches
      fetches.increment()
      return QuerySubscription { fetches.increment() }
    }
  }
}

private enum Block3 {
  final class MyController<State: QueryStateProtocol>: QueryController {
    func control(with controls: QueryControls<State>) -> QuerySubscription {
      // Yielding state.
      controls.yield(controls.state.initialValue)

      // Yielding an error.
      controls.yield(throwing: SomeError())

      // Yielding a refetch.
      Task {
        let result: State.QueryValue? = try await controls.yieldRefetch()
        controls.context.refetches.append(String(describing: result))
      }
      return .empty
    }
  }
}

private struct SomeError: Error {}

private struct MyQuery: QueryRequest, Hashable {
  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Int>
  ) async throws -> Int {
    42
  }
}

extension QueryContext {
  fileprivate var refetches: Recorder<String> {
    get { self[RefetchesKey.self] }
    set { self[RefetchesKey.self] = newValue }
  }

  private enum RefetchesKey: Key {
    static var defaultValue: Recorder<String> { Recorder() }
  }
}

@Suite("Document 002: creating a controller", .warningsAreIssues)
struct MyControllerTests {
  private typealias State = QueryState<Int?, Int>

  @Test("A controller gets controls when a store is made, and cleans up when it is released")
  func lifetime() {
    var context = QueryContext()
    context.fetches = Counter()
    let fetches = context.fetches
    let query = MyQuery().controlled(by: Block2.MyController())

    var store: QueryStore<State>? = .detached(
      query: query,
      initialValue: nil,
      initialContext: context
    )
    #expect(store?.currentValue == Int?.none)
    #expect(fetches.value == 1)

    store = nil
    #expect(fetches.value == 2)
  }

  @Test("A controller yields values, errors and refetches")
  func yields() async throws {
    let refetches = Recorder<String>()
    let store = self.store(isAutomaticFetchingEnabled: true, refetches)
    #expect(store.valueUpdateCount >= 1)
    #expect(store.errorUpdateCount == 1)

    #expect(await refetches.wait(forCount: 1) == ["Optional(42)"])
    #expect(store.currentValue == 42)
    #expect(store.valueUpdateCount == 2)
    #expect(store.error == nil)
  }

  @Test("Note: a refetch yields nil where automatic fetching is disabled")
  func disabledRefetch() async throws {
    let refetches = Recorder<String>()
    let store = self.store(isAutomaticFetchingEnabled: false, refetches)

    #expect(await refetches.wait(forCount: 1) == ["nil"])
    #expect(store.currentValue == nil)
    #expect(store.valueUpdateCount == 1)
    #expect(store.error is SomeError)
    #expect(!store.isAutomaticFetchingEnabled)
  }

  @Test(
    "Note: canYieldRefetch tells whether automatic fetching is enabled",
    arguments: [true, false]
  )
  func canYieldRefetch(isEnabled: Bool) async throws {
    let controller = ControlsKeeper<State>()
    let store = QueryStore.detached(
      query: MyQuery().controlled(by: controller).disableAutomaticFetching(!isEnabled),
      initialValue: nil
    )
    let controls = try #require(controller.controls.elements.first)

    #expect(controls.canYieldRefetch == isEnabled)
    #expect(store.isAutomaticFetchingEnabled == isEnabled)
    #expect(try await controls.yieldRefetch() == (isEnabled ? 42 : nil))
    #expect((controls.yieldRefetchTask() == nil) == !isEnabled)
  }

  @Test("How controllers work: the controls hold the store weakly")
  func weakStore() async throws {
    let controller = ControlsKeeper<State>()
    var store: QueryStore<State>? = .detached(
      query: MyQuery().controlled(by: controller),
      initialValue: 3
    )
    let controls = try #require(controller.controls.elements.first)
    weak let weakStore = store
    controls.yield(4)
    #expect(store?.currentValue == 4)

    store = nil
    #expect(weakStore == nil)
    await withExpectedWarnings([.controllerDeallocatedStoreAccess(stateType: State.self)]) {
      controls.yield(5)
    }
  }

  private func store(
    isAutomaticFetchingEnabled: Bool,
    _ refetches: Recorder<String>
  ) -> QueryStore<State> {
    var context = QueryContext()
    context.refetches = refetches
    context.enableAutomaticFetchingCondition = .always(isAutomaticFetchingEnabled)
    return QueryStore.detached(
      query: MyQuery().controlled(by: Block3.MyController()),
      initialValue: nil,
      initialContext: context
    )
  }
}

private final class ControlsKeeper<State: QueryStateProtocol>: QueryController {
  let controls = Recorder<QueryControls<State>>()

  func control(with controls: QueryControls<State>) -> QuerySubscription {
    self.controls.append(controls)
    return .empty
  }
}
