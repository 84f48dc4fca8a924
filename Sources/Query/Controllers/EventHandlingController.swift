extension QueryRequest {
  /// Calls a handler with the events of each store of this query, for as long as the store lives. It is
  /// no subscriber: it starts no fetch, and keeps no store in a cache.
  ///
  /// - Parameter handler: Receives the events from the creation of a store on.
  public func handleEvents(
    with handler: QueryEventHandler<State>
  ) -> ControlledQuery<Self, _EventHandlingController<State>> {
    self.controlled(by: _EventHandlingController(handler: handler.storeHandler))
  }
}

public struct _EventHandlingController<State: QueryStateProtocol>: QueryController {
  let handler: StoreHandler<State>?

  public func control(with controls: QueryControls<State>) -> QuerySubscription {
    guard let handler, let store = controls.livingStore else { return .empty }
    return store.observe(handler)
  }
}
