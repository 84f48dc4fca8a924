import Foundation
import Query

/// A query that closures answer, at a path of the test's choice.
struct ProbeQuery: QueryRequest {
  typealias Fetch = @Sendable (QueryContext, QueryContinuation<Int>) async throws -> Int

  let path: QueryPath
  let onSetup: @Sendable (inout QueryContext) -> Void
  let onFetch: Fetch

  init(
    path: QueryPath = ["probe"],
    onSetup: @escaping @Sendable (inout QueryContext) -> Void = { _ in },
    onFetch: @escaping Fetch = { _, _ in 1 }
  ) {
    self.path = path
    self.onSetup = onSetup
    self.onFetch = onFetch
  }

  func setup(context: inout QueryContext) { self.onSetup(&context) }

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Int>
  ) async throws -> Int {
    try await self.onFetch(context, continuation)
  }
}

/// A query whose fetches run a closure.
func probe(_ onFetch: @escaping ProbeQuery.Fetch) -> ProbeQuery { ProbeQuery(onFetch: onFetch) }

/// A query of another type, with the value and the path that a ``ProbeQuery`` may have.
struct OtherProbeQuery: QueryRequest {
  var path: QueryPath = ["probe"]

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Int>
  ) async throws -> Int { 2 }
}

/// A query whose value is text.
struct ProbeTextQuery: QueryRequest {
  var path: QueryPath = ["text"]

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<String>
  ) async throws -> String { "text" }
}

/// Pages 0, 1, 2… up to `lastPage`, and -1 before the first.
struct ProbePages: InfiniteQueryRequest {
  typealias PageID = Int
  typealias PageValue = String

  var path: QueryPath = ["pages"]
  var lastPage = 2
  var initialPageId: Int { 0 }
  var onFetch: @Sendable (Int, QueryContext) async throws -> String = { id, _ in "page \(id)" }

  func pageId(
    after page: InfiniteQueryPage<Int, String>,
    using paging: InfiniteQueryPaging<Int, String>,
    in context: QueryContext
  ) -> Int? { page.id < self.lastPage ? page.id + 1 : nil }

  func pageId(
    before page: InfiniteQueryPage<Int, String>,
    using paging: InfiniteQueryPaging<Int, String>,
    in context: QueryContext
  ) -> Int? { page.id == 0 ? -1 : nil }

  func fetchPage(
    using paging: InfiniteQueryPaging<Int, String>,
    in context: QueryContext,
    with continuation: QueryContinuation<String>
  ) async throws -> String { try await self.onFetch(paging.pageId, context) }
}

/// A mutation that doubles its argument.
struct ProbeMutation: MutationRequest {
  var path: QueryPath = ["mutation"]
  var onMutate: @Sendable (Int, QueryContext) async throws -> Int = { argument, _ in 2 * argument }

  func mutate(
    with arguments: Int,
    in context: QueryContext,
    with continuation: QueryContinuation<Int>
  ) async throws -> Int { try await self.onMutate(arguments, context) }
}

// MARK: - Modifiers

/// Writes its name down at each setup and at each fetch.
struct TraceModifier<Query: QueryRequest>: QueryModifier {
  let name: String
  var onFetch: @Sendable (String) -> Void = { _ in }

  func setup(context: inout QueryContext, using query: Query) {
    context.trace.append(self.name)
    query.setup(context: &context)
  }

  func fetch(
    in context: QueryContext,
    using query: Query,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value {
    self.onFetch(self.name)
    return try await query.fetch(in: context, with: continuation)
  }
}

extension QueryRequest {
  func traced(
    _ name: String,
    onFetch: @escaping @Sendable (String) -> Void = { _ in }
  ) -> ModifiedQuery<Self, TraceModifier<Self>> {
    self.modifier(TraceModifier(name: name, onFetch: onFetch))
  }
}

extension QueryContext {
  /// The names of the trace modifiers and requests that were set up, the first one first.
  var trace: [String] {
    get { self[TraceKey.self] }
    set { self[TraceKey.self] = newValue }
  }

  private enum TraceKey: Key {
    static var defaultValue: [String] { [] }
  }
}

// MARK: - Controllers and lifetimes

/// A controller that a closure is.
struct ProbeController<State: QueryStateProtocol>: QueryController {
  let onControl: @Sendable (QueryControls<State>) -> QuerySubscription

  func control(with controls: QueryControls<State>) -> QuerySubscription {
    self.onControl(controls)
  }
}

/// Calls a closure when it is released.
final class ReleaseProbe: Sendable {
  private let onRelease: @Sendable () -> Void

  init(_ onRelease: @escaping @Sendable () -> Void) { self.onRelease = onRelease }

  deinit { self.onRelease() }
}

extension QueryContext {
  /// Something that lives as long as a copy of the context.
  var kept: ReleaseProbe? {
    get { self[KeptKey.self] }
    set { self[KeptKey.self] = newValue }
  }

  private enum KeptKey: Key {
    static var defaultValue: ReleaseProbe? { nil }
  }
}

// MARK: - Threads

/// Runs a closure on another thread while this one waits for it.
///
/// - Returns: Whether it ended. It does not if this thread holds a lock that the closure needs; the
///   watchdog then ends the wait.
func isDoneElsewhere(_ body: @escaping @Sendable () -> Void) -> Bool {
  let isDone = DispatchSemaphore(value: 0)
  Thread {
    body()
    isDone.signal()
  }
  .start()
  return isDone.wait(timeout: .now() + .seconds(30)) == .success
}

extension QueryClient {
  /// A client with the defaults of `QueryClient()` whose cache evicts nothing by itself, however
  /// short the memory of this machine is.
  static func quiet(
    _ creator: QueryClient.DefaultStoreCreator = .defaultTesting
  ) -> QueryClient {
    QueryClient(storeCache: DefaultStoreCache(memoryPressureSource: nil), storeCreator: creator)
  }
}
