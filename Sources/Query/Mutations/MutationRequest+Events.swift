extension MutationRequest {
  /// Calls a handler with the events of each store of this mutation, those of attempts included. See
  /// ``QueryRequest/handleEvents(with:)``.
  ///
  /// - Parameter handler: Receives the events from the creation of a store on.
  public func handleEvents(
    with handler: MutationEventHandler<Arguments, ReturnValue>
  ) -> ControlledQuery<Self, _EventHandlingController<State>> {
    self.controlled(by: _EventHandlingController(handler: handler.storeHandler(for: State.self)))
  }
}
