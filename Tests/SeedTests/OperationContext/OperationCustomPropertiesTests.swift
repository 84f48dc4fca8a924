import Foundation
import Operation
import TestSupport
import Testing

// Document 001, "Adding Custom Properties to OperationContext" and "Setting Up The Context": blocks
// 1 to 5. SwiftUI's environment has a stand-in at the end.

// MARK: - Block 1

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

// 🟢 OperationContext

extension OperationContext {
  fileprivate var customProperty: String {
    get { self[CustomPropertyKey.self] }
    set { self[CustomPropertyKey.self] = newValue }
  }

  private enum CustomPropertyKey: Key {
    static let defaultValue: String = "hello!"
  }
}

// MARK: - Block 2

private struct PlayerQuery: QueryRequest, Hashable {
  let id: Int

  func fetch(
    in context: OperationContext,
    with continuation: OperationContinuation<Player, any Error>
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

// MARK: - Block 3

extension OperationContext {
  fileprivate var myExpensiveProperty: String {
    get { self[MyExpensiveLazyPropertyKey.self] }
    set { self[MyExpensiveLazyPropertyKey.self] = newValue }
  }

  private enum MyExpensiveLazyPropertyKey: Key {
    static let defaultValue = someExpensiveComputation()
  }
}

private let expensiveComputations = Counter()

private func someExpensiveComputation() -> String {
  "expensive \(expensiveComputations.increment())"
}

// MARK: - Block 4

private struct SomeQuery: QueryRequest, Hashable {
  func setup(context: inout OperationContext) {
    context.customProperty = "new value"
  }

  // ...

  func fetch(
    in context: OperationContext,
    with continuation: OperationContinuation<String, any Error>
  ) async throws -> String {
    context.customProperty
  }
}

// MARK: - Block 5

private struct NoRetryQuery: QueryRequest, Hashable {
  func setup(context: inout OperationContext) {
    context.maxRetries = 0  // Disable retries for this query.
  }

  // ...

  func fetch(
    in context: OperationContext,
    with continuation: OperationContinuation<String, any Error>
  ) async throws -> String {
    throw TestError("attempt \(context.fetches.increment())")
  }
}

// MARK: - Tests

@Suite("Document 001: custom properties and setup", .warningsAreIssues)
struct OperationCustomPropertiesTests {
  @Test("A context takes a custom property as the environment does")
  func customProperty() {
    var environment = EnvironmentValues()
    var context = OperationContext()
    #expect(environment.customProperty == "hello!")
    #expect(context.customProperty == "hello!")

    environment.customProperty = "goodbye!"
    context.customProperty = "goodbye!"
    #expect(environment.customProperty == "goodbye!")
    #expect(context.customProperty == "goodbye!")
  }

  @Test("A custom property changes how an operation fetches")
  func fetchByCustomProperty() async throws {
    let store = OperationStore.detached(query: PlayerQuery(id: 1), initialValue: nil)
    let usual = try await store.fetch()
    store.context.customProperty = "goodbye!"
    let different = try await store.fetch()

    #expect(usual == Player(id: 1, name: "Blob"))
    #expect(different == Player(id: 1, name: "Blob, goodbye!"))
  }

  @Test("A default in a static let is computed once, for all contexts")
  func expensiveDefault() {
    var context = OperationContext()
    #expect(context.myExpensiveProperty == "expensive 1")
    #expect(OperationContext().myExpensiveProperty == "expensive 1")

    context.myExpensiveProperty = "own"
    #expect(context.myExpensiveProperty == "own")
    #expect(expensiveComputations.value == 1)
  }

  @Test("The setup of an operation runs once, when its store is made")
  func setup() async throws {
    let setups = Counter()
    let query = SomeQuery().modifier(SetupCounting(setups: setups))
    let store = OperationStore.detached(query: query, initialValue: nil)
    #expect(setups.value == 1)

    let values = [try await store.fetch(), try await store.fetch()]
    #expect(values == ["new value", "new value"])
    #expect(setups.value == 1)
  }

  @Test("A setup that sets no retries disables those of a modifier and of a client")
  func noRetry() async {
    let fetches = Counter()
    var context = OperationContext()
    context.fetches = fetches
    let detached = OperationStore.detached(
      query: NoRetryQuery().retry(limit: 3).delayer(.noDelay),
      initialValue: nil,
      initialContext: context
    )
    await #expect(throws: TestError("attempt 1")) { try await detached.fetch() }

    let client = OperationClient(
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
