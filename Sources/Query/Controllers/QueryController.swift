/// Something that changes or refetches a query by itself, for as long as a store of it lives.
///
/// ```swift
/// final class Ticker<State: QueryStateProtocol>: QueryController {
///   func control(with controls: QueryControls<State>) -> QuerySubscription {
///     let timer = startTimer { Task { try await controls.yieldRefetch() } }
///     return QuerySubscription { timer.cancel() }
///   }
/// }
///
/// let query = PlayerQuery(id: 200).controlled(by: Ticker())
/// ```
public protocol QueryController<State>: Sendable {
  /// The state of the stores that this controls.
  associatedtype State: QueryStateProtocol

  /// Begins to control a store.
  ///
  /// Called once for each store, when it is created, before any other code has it.
  ///
  /// - Parameter controls: What the controller may do to the store.
  /// - Returns: The controller's work; it is cancelled when the store is released.
  func control(with controls: QueryControls<State>) -> QuerySubscription
}

extension QueryContext {
  /// The controllers of a new store, in the order in which they are called to control it.
  public var queryControllers: [any QueryController] {
    get { self[QueryControllersKey.self] }
    set { self[QueryControllersKey.self] = newValue }
  }

  private enum QueryControllersKey: Key {
    static var defaultValue: [any QueryController] { [] }
  }
}

/// A query with a controller.
public typealias ControlledQuery<Query: QueryRequest, Controller: QueryController<Query.State>> =
  ModifiedQuery<Query, _QueryControllerModifier<Query, Controller>>

extension QueryRequest {
  /// Lets a controller change or refetch the stores of this query.
  ///
  /// - Parameter controller: The controller, which serves all stores made from the result.
  public func controlled<C: QueryController<State>>(by controller: C) -> ControlledQuery<Self, C> {
    self.modifier(_QueryControllerModifier(controller: controller))
  }
}

public struct _QueryControllerModifier<
  Query: QueryRequest,
  Controller: QueryController<Query.State>
>: _ContextUpdatingQueryModifier {
  let controller: Controller

  public func setup(context: inout QueryContext) {
    context.queryControllers.append(self.controller)
  }
}
