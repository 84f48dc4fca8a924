extension QueryClient {
  /// Makes a durable mutation known, once, for its edits and for replay: what it changes is shown in the
  /// stores of this client, and its replayers send it.
  ///
  /// Register before the first store is made: what is not known is not shown.
  ///
  /// - Parameter mutation: The mutation, with its `persisted(as:)`. One of the same name and path takes
  ///   the place of an earlier one.
  /// - Throws: ``MutationDeclarationError``, also if it is not durable; ``QueryIdentityError``;
  ///   ``StorageError`` if the client has no storage.
  public func register<M: MutationRequest>(_ mutation: M) throws {
    let runner = try Registration.$path.withValue(mutation.path) {
      try self.durableRunner(for: mutation)
    }
    guard let runner else {
      throw MutationDeclarationError.notPersisted(mutation: mutation._debugTypeName)
    }
    runner.declareEdits()
    self.registrations.add(runner)
  }

  /// The mutations that were registered, for replayers.
  package var registeredRunners: [any DurableRunner] { self.registrations.all }

  /// Calls a closure with each mutation that is registered from now on.
  package func onRegistration(
    _ handler: @escaping @Sendable (any DurableRunner) -> Void
  ) -> QuerySubscription {
    self.registrations.subscribe(handler)
  }
}

/// A registration that is under way. It declares the edits itself, whether there was a store or not: a new
/// store leaves that to it, or all rows would be read twice.
enum Registration {
  /// The path of the mutation that the current call registers.
  @TaskLocal static var path: QueryPath?
}
