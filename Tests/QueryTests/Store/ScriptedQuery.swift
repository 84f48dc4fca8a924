@testable import Query

/// A request that runs a closure.
struct ScriptedQuery<Value: Sendable>: QueryRequest {
  typealias Body = @Sendable (QueryContext, QueryContinuation<Value>) async throws -> Value

  var path: QueryPath = ["scripted"]
  let body: Body

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Value>
  ) async throws -> Value {
    try await self.body(context, continuation)
  }
}

typealias IntState = QueryState<Int?, Int>
typealias IntStore = QueryStore<IntState>

extension ScriptedQuery where Value == Int {
  /// A store of a request that runs a closure.
  static func store(
    in context: QueryContext = QueryContext(),
    _ body: @escaping Body
  ) -> IntStore {
    .detached(query: ScriptedQuery(body: body), initialValue: nil, initialContext: context)
  }

  /// A store of a request that returns 1.
  static func store() -> IntStore { self.store { _, _ in 1 } }
}

/// A value that a test writes from any thread.
final class Box<Value: Sendable>: Sendable {
  private let lock: Locked<Value>

  init(_ value: Value) { self.lock = Locked(value) }

  var value: Value {
    get { self.lock.withLock { $0 } }
    set {
      let old = self.lock.withLock { value in
        defer { value = newValue }
        return value
      }
      withExtendedLifetime(old) {}
    }
  }
}

/// Tells when it is released.
final class Tracked: Sendable {
  private let onRelease: @Sendable () -> Void

  init(onRelease: @escaping @Sendable () -> Void = {}) { self.onRelease = onRelease }

  deinit { self.onRelease() }
}

enum MarkKey: QueryContext.Key {
  static let defaultValue = "none"
}

extension QueryContext {
  /// Tells the contexts of a test apart.
  var mark: String {
    get { self[MarkKey.self] }
    set { self[MarkKey.self] = newValue }
  }

  init(mark: String) {
    self.init()
    self.mark = mark
  }
}
