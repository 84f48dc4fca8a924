import Foundation
import Operation
import TestSupport
import Testing

// Document 000, "Adding Custom Properties to QueryContext" and "Setting Up The Context": blocks 3
// to 7. SwiftUI's environment has a stand-in at the end.

// MARK: - Block 3

// 🟢 SwiftUI

extension EnvironmentValues {
  fileprivate var customProperty: String {
    get { self[CustomPropertyKey.self] }
    set { self[CustomPropertyKey.self] = newValue }
  }

  private enum CustomPropertyKey: EnvironmentKey {
    static let defaultValue: String = "hello!"
  }
}

// 🟢 QueryContext

extension QueryContext {
  fileprivate var customProperty: String {
    get { self[CustomPropertyKey.self] }
    set { self[CustomPropertyKey.self] = newValue }
  }

  private enum CustomPropertyKey: Key {
    static let defaultValue: String = "hello!"
  }
}

// MARK: - Block 4

private struct PlayerQuery: QueryRequest, Hashable {
  let id: Int

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Player>
  ) async throws -> Player {
    if context.customProperty == "hello!" {
      // Fetch...
      Player(id: id, name: "Blob")
    } else {
      // Fetch Differently...
      Player(id: id, name: "Blob, \(context.customProperty)")
    }
  }
}

// MARK: - Block 5

extension QueryContext {
  fileprivate var myExpensiveProperty: String {
    get { self[MyExpensiveLazyPropertyKey.self] }
    set { self[MyExpensiveLazyPropertyKey.self] = newValue }
  }

  private enum MyExpensiveLazyPropertyKey: Key {
    static let defaultValue = someExpensiveComputation()
  }

  /// As its text says, the default of a computed property is computed every time.
  fileprivate var myCheapProperty: String {
    get { self[MyCheapPropertyKey.self] }
    set { self[MyCheapPropertyKey.self] = newValue }
  }

  private enum MyCheapPropertyKey: Key {
    static var defaultValue: String { someCheapComputation() }
  }
}

private let expensiveComputations = Counter()
private let cheapComputations = Counter()

private func someExpensiveComputation() -> String {
  "expensive \(expensiveComputations.increment())"
}

private func someCheapComputation() -> String { "cheap \(cheapComputations.increment())" }

// MARK: - Block 6

private struct SomeQuery: QueryRequest, Hashable {
  func setup(context: inout QueryContext) {
    context.customProperty = "new value"
  }

  // ...

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<String>
  ) async throws -> String {
    context.customProperty
  }
}

// MARK: - Block 7

private struct NoRetryQuery: QueryRequest, Hashable {
  func setup(context: inout QueryContext) {
    context.maxRetries = 0  // Disable retries for this query.
  }

  // ...

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<String>
  ) async throws -> String {
    throw TestError("attempt \(context.fetches.increment())")
  }
}

// MARK: - Tests

@Suite("Document 000: custom properties and setup", .warningsAreIssues)
struct CustomPropertiesTests {
  @Test("A context takes a custom property as the environment does")
  func customProperty() {
    var environment = EnvironmentValues()
    var context = QueryContext()
    #expect(environment.customProperty == "hello!")
    #expect(context.customProperty == "hello!")

    environment.customProperty = "goodbye!"
    context.customProperty = "goodbye!"
    #expect(environment.customProperty == "goodbye!")
    #expect(context.customProperty == "goodbye!")
  }

  @Test("A custom property changes how a query fetches")
  func fetchByCustomProperty() async throws {
    let store = QueryStore.detached(query: PlayerQuery(id: 1), initialValue: nil)
    let usual = try await store.fetch()
    store.context.customProperty = "goodbye!"
    let different = try await store.fetch()

    #expect(usual == Player(id: 1, name: "Blob"))
    #expect(different == Player(id: 1, name: "Blob, goodbye!"))
  }

  @Test("A default is computed at every read, one in a static let once")
  func defaultValues() {
    var context = QueryContext()
    #expect(context.myCheapProperty == "cheap 1")
    #expect(context.myCheapProperty == "cheap 2")
    #expect(QueryContext().myCheapProperty == "cheap 3")
    #expect(context.myExpensiveProperty == "expensive 1")
    #expect(context.myExpensiveProperty == "expensive 1")
    #expect(QueryContext().myExpensiveProperty == "expensive 1")
    #expect(expensiveComputations.value == 1)

    // A context with a value of its own computes nothing.
    context.myCheapProperty = "own"
    #expect(context.myCheapProperty == "own")
    #expect(cheapComputations.value == 3)
  }

  @Test("The setup of a query runs once, when its store is made")
  func setup() async throws {
    let setups = Counter()
    let query = SomeQuery().modifier(SetupCounting(setups: setups))
    let store = QueryStore.detached(query: query, initialValue: nil)
    #expect(setups.value == 1)

    let values = [try await store.fetch(), try await store.fetch()]
    #expect(values == ["new value", "new value"])
    #expect(setups.value == 1)

    // Context that is set later is not set up again.
    store.context.customProperty = "newer value"
    #expect(try await store.fetch() == "newer value")
  }

  @Test("A setup that sets no retries disables those of a modifier and of a client")
  func noRetry() async {
    let fetches = Counter()
    var context = QueryContext()
    context.fetches = fetches
    let detached = QueryStore.detached(
      query: NoRetryQuery().retry(limit: 3).delayer(.noDelay),
      initialValue: nil,
      initialContext: context
    )
    await #expect(throws: TestError("attempt 1")) { try await detached.fetch() }

    let client = QueryClient(
      defaultContext: context,
      storeCreator: .default(delayer: .noDelay, networkObserver: nil, activityObserver: nil)
    )
    let store = client.store(for: NoRetryQuery())
    await #expect(throws: TestError("attempt 2")) { try await store.fetch() }
    #expect(fetches.value == 2)
  }
}

// MARK: - SwiftUI's environment

private protocol EnvironmentKey {
  associatedtype Value
  static var defaultValue: Value { get }
}

private struct EnvironmentValues {
  private var values = [ObjectIdentifier: Any]()

  subscript<K: EnvironmentKey>(key: K.Type) -> K.Value {
    get { self.values[ObjectIdentifier(key)] as? K.Value ?? key.defaultValue }
    set { self.values[ObjectIdentifier(key)] = newValue }
  }
}
