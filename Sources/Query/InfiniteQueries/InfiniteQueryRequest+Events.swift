extension InfiniteQueryRequest {
  /// Calls a handler with the events of each store of this query, those of pages included. See
  /// ``QueryRequest/handleEvents(with:)``.
  ///
  /// - Parameter handler: Receives the events from the creation of a store on.
  public func handleEvents(
    with handler: InfiniteQueryEventHandler<PageID, PageValue>
  ) -> ControlledQuery<Self, _EventHandlingController<State>> {
    self.controlled(by: _EventHandlingController(handler: handler.storeHandler(for: State.self)))
  }
}
