import Synchronization

/// What a store is used for that its cache has given up.
@usableFromInline
enum LateUse: Sendable {
  /// It has a subscriber again: it comes back, if its path has no other store.
  case subscription
  /// It fetches, or a caller will see whether it has to. It does not come back.
  case fetch
}

@usableFromInline typealias ComeBack = @Sendable (LateUse) -> Void

/// A store without the type of its state, for what all stores have in common.
@usableFromInline
protocol ErasedQueryStore: AnyObject, Sendable {
  var path: QueryPath { get }
  var context: QueryContext { get set }
  var isStale: Bool { get }
  var isAutomaticFetchingEnabled: Bool { get }
  var subscriberCount: Int { get }
  var requestType: Any.Type? { get }
  /// Whether a cache may give the store up. Takes no lock.
  var mayBeGivenUp: Bool { get }
  func retire(_ comeBack: @escaping ComeBack) -> Bool
  func retireIfUnused(_ comeBack: @escaping ComeBack) -> Bool?
  func comeBackLater(_ comeBack: @escaping ComeBack)
  var isUsed: Bool { get }
  func onUseChange(_ handler: @escaping @Sendable () -> Void)
  var opaqueState: OpaqueQueryState { get }
  func reset(using context: QueryContext?)
  func invalidate()
  func cancelFetches()
  func takeReset(using context: QueryContext?) -> [@Sendable () -> Void]
  func takeCancellationOfFetches() -> [@Sendable () -> Void]
  var origin: ValueOrigin { get }
  func setOpaqueResult(to result: Result<(any Sendable)?, any Error>, using context: QueryContext?)
  func fetchOpaque(
    in context: QueryContext?,
    configuration: QueryTaskConfiguration?,
    handler: OpaqueQueryEventHandler
  ) async throws -> any Sendable
  func opaqueTask(
    in context: QueryContext?,
    configuration: QueryTaskConfiguration?
  ) -> QueryTask<any Sendable>
  func subscribe(with handler: OpaqueQueryEventHandler) -> QuerySubscription
  func enter()
  func leave()
}

extension QueryStore: ErasedQueryStore {
  @usableFromInline
  var mayBeGivenUp: Bool { self.isRetired.load(ordering: .sequentiallyConsistent) }

  @usableFromInline
  var opaqueState: OpaqueQueryState { OpaqueQueryState(self.state) }

  @usableFromInline
  func setOpaqueResult(
    to result: Result<(any Sendable)?, any Error>,
    using context: QueryContext?
  ) {
    self.setResult(to: result.map { OpaqueValue.unwrap($0) }, using: context)
  }

  @usableFromInline
  func fetchOpaque(
    in context: QueryContext?,
    configuration: QueryTaskConfiguration?,
    handler: OpaqueQueryEventHandler
  ) async throws -> any Sendable {
    try await self.run(
      in: context ?? self.taskContext(configuration),
      name: .fetch,
      handler: handler.handler(for: State.self).storeHandler
    )
  }

  @usableFromInline
  func opaqueTask(
    in context: QueryContext?,
    configuration: QueryTaskConfiguration?
  ) -> QueryTask<any Sendable> {
    self.fetchTask(using: context ?? self.taskContext(configuration)).map { $0 }
  }

  @usableFromInline
  func subscribe(with handler: OpaqueQueryEventHandler) -> QuerySubscription {
    self.subscribe(with: handler.handler(for: State.self))
  }
}

/// The one place that gives a type-erased value its type back.
enum OpaqueValue {
  /// - Precondition: The value has the requested type.
  static func unwrap<Value>(_ value: (any Sendable)?) -> Value {
    // An absent value stays absent if the type is an optional.
    if let value = value as? Value { return value }
    preconditionFailure(
      """
      A store of \(Value.self) was given \(value.map { "\(type(of: $0))" } ?? "nil"). Set a value \
      of the store's own type.
      """
    )
  }

  /// A type-erased value. An absent optional becomes `nil` itself, even if it is wrapped in another
  /// optional.
  static func wrap<Value: Sendable>(_ value: Value) -> (any Sendable)? {
    guard let optional = value as? any OptionalValue else { return value }
    // What a sendable optional wraps is sendable, which a cast cannot ask: it leaves no trace in
    // the existential. Without `as Any` the bits would be those of the value in it.
    return optional.wrappedValue.flatMap { wrapped in
      Self.wrap(unsafeBitCast(wrapped as Any, to: (any Sendable).self))
    }
  }
}

private protocol OptionalValue {
  var wrappedValue: Any? { get }
}

extension Optional: OptionalValue {
  fileprivate var wrappedValue: Any? { self }
}
