/// A description of how to fetch a value, and of the identity that the value has.
///
/// ```swift
/// struct PlayerQuery: QueryRequest, Hashable {
///   let id: Int
///
///   func fetch(
///     in context: QueryContext,
///     with continuation: QueryContinuation<Player>
///   ) async throws -> Player {
///     try await api.player(id: self.id)
///   }
/// }
/// ```
/// A request does nothing by itself: a ``QueryStore``, made by a ``QueryClient`` or by
/// `QueryStore.detached(query:)`, runs it and holds its state.
/// Modifiers such as ``retry(limit:)`` wrap a request in another that does more.
public protocol QueryRequest<Value, State>: QueryPathable, Sendable
where State.QueryValue == Value {
  /// What a fetch produces.
  associatedtype Value: Sendable

  /// The state that a store keeps for this request.
  associatedtype State: QueryStateProtocol = QueryState<Value?, Value>

  /// The name of the request in messages.
  var _debugTypeName: String { get }

  /// The identity of the request. A client has one store for each path.
  ///
  /// A `Hashable` request has itself as its only path element, an `Identifiable` one its `id`.
  var path: QueryPath { get }

  /// Edits the context that a store of this request starts with.
  ///
  /// Called once for a store, when it is created; that of a durable mutation also to compare what it
  /// declares with the store at its path, in a context that is thrown away. What a request writes here overrides
  /// what the modifiers around it wrote.
  ///
  /// - Parameter context: The context of the new store.
  func setup(context: inout QueryContext)

  /// Fetches the value.
  ///
  /// Runs on the actor of the call that started it.
  ///
  /// - Parameters:
  ///   - context: The values that this fetch runs with.
  ///   - continuation: Takes values that are known before the final one.
  /// - Returns: The final value.
  /// - Throws: Any error; it becomes the error of the store's state.
  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Value>
  ) async throws -> Value
}

extension QueryRequest {
  /// The request's type name without its module.
  public var _debugTypeName: String {
    TypeName.of(Self.self, generics: .dropped)
  }

  /// Leaves the context as it is.
  @inlinable
  public func setup(context: inout QueryContext) {}
}

extension QueryRequest where Self: Hashable {
  /// A path with the request itself as its only element.
  @inlinable
  public var path: QueryPath { QueryPath(self) }
}

extension QueryRequest where Self: Identifiable, ID: Sendable {
  /// A path with the request's identifier as its only element.
  @inlinable
  public var path: QueryPath { QueryPath(self.id) }
}

extension QueryRequest {
  /// Wraps this request in a modifier.
  ///
  /// - Parameter modifier: Edits the context, or surrounds each fetch.
  /// - Returns: A request with the same path and state.
  @inlinable
  public func modifier<M: QueryModifier>(_ modifier: M) -> ModifiedQuery<Self, M> {
    ModifiedQuery(query: self, modifier: modifier)
  }
}
