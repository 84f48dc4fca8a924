public import FoundationEssentials

extension QueryStore where State: _MutationStateProtocol {
  /// Makes an attempt.
  ///
  /// A durable mutation (`persisted(as:)`) is first committed to the outbox of the store's storage.
  /// If it cannot be sent now, this throws ``MutationQueuedError``: it is saved, and will be sent.
  ///
  /// - Parameters:
  ///   - arguments: What the attempt is given.
  ///   - dependencies: The durable mutations that must have succeeded before this one is sent.
  ///   - configuration: What the attempt runs with. One made without a context is laid over the
  ///     store's, any other replaces it.
  ///   - handler: Receives all events of the store until this call returns.
  /// - Returns: What the mutation returned.
  /// - Throws: What the mutation threw; `CancellationError` if the attempt was cancelled. A durable
  ///   mutation also throws ``MutationQueuedError``, ``MutationDeadError`` and
  ///   ``MutationEndedError``, and, if nothing was saved, ``StorageError``, ``OutboxError``,
  ///   ``MutationDeclarationError`` and what its coder throws.
  @inlinable
  @discardableResult
  public func mutate(
    with arguments: State.Arguments,
    dependsOn dependencies: [UUID] = [],
    using configuration: QueryTaskConfiguration? = nil,
    handler: MutationEventHandler<State.Arguments, State.Value> = .init()
  ) async throws -> State.Value {
    try await self.attempt(
      arguments, .mutate, dependsOn: dependencies, in: self.taskContext(configuration), handler)
  }

  /// Makes an attempt, with a context instead of the store's.
  ///
  /// See ``mutate(with:dependsOn:using:handler:)-(_,_,QueryTaskConfiguration?,_)``.
  @inlinable
  @discardableResult
  public func mutate(
    with arguments: State.Arguments,
    dependsOn dependencies: [UUID] = [],
    using context: QueryContext,
    handler: MutationEventHandler<State.Arguments, State.Value> = .init()
  ) async throws -> State.Value {
    try await self.attempt(
      arguments, .mutate, dependsOn: dependencies, in: context, handler)
  }

  /// Makes another attempt with the arguments of the latest one. It is a new entry of the history.
  ///
  /// - Parameters:
  ///   - configuration: What the attempt runs with. One made without a context is laid over the
  ///     store's, any other replaces it.
  ///   - handler: Receives all events of the store until this call returns.
  /// - Returns: What the mutation returned.
  /// - Throws: What the mutation threw; `CancellationError` if the attempt was cancelled; an error
  ///   that says so if there was no attempt yet, which is also reported as a warning.
  @discardableResult
  public func retryLatest(
    using configuration: QueryTaskConfiguration? = nil,
    handler: MutationEventHandler<State.Arguments, State.Value> = .init()
  ) async throws -> State.Value {
    try await self.attempt(nil, .retryLatest, in: self.taskContext(configuration), handler)
  }

  /// Makes another attempt with the arguments of the latest one, with a context instead of the
  /// store's.
  ///
  /// See ``retryLatest(using:handler:)-(QueryTaskConfiguration?,_)``.
  @discardableResult
  public func retryLatest(
    using context: QueryContext,
    handler: MutationEventHandler<State.Arguments, State.Value> = .init()
  ) async throws -> State.Value {
    try await self.attempt(nil, .retryLatest, in: context, handler)
  }

  @inlinable
  func attempt(
    _ arguments: State.Arguments?,
    _ name: TaskNames.Kind,
    dependsOn dependencies: [UUID] = [],
    in context: QueryContext,
    _ handler: MutationEventHandler<State.Arguments, State.Value>,
    onAdmission: ((any AdmittedAttempt) -> Void)? = nil
  ) async throws -> State.Value {
    // A durable mutation is on disk before anything is shown or sent.
    var admitted: (any AdmittedAttempt)?
    if let storing = self.withLock({ self.storing }) {
      var context = context
      context[QueryContext.MutationArgumentsKey<State.Arguments>.self] = arguments
      context.mutationDependencies = dependencies
      admitted = try await storing.admit(context, isRetry: name == .retryLatest)
      if let admitted { onAdmission?(admitted) }
    }
    return try await self.run(
      in: context,
      name: name,
      handler: handler.storeHandler(for: State.self)
    ) {
      $0[QueryContext.MutationArgumentsKey<State.Arguments>.self] = arguments
      if let admitted { $0.admittedAttempt = admitted }
    }
    .returnValue
  }
}

// MARK: - Tasks

extension QueryStore where State: _MutationStateProtocol {
  /// Schedules an attempt without starting it.
  ///
  /// - Parameters:
  ///   - arguments: What the attempt is given.
  ///   - configuration: What the attempt runs with, as for `mutate`.
  @discardableResult
  public func mutateTask(
    with arguments: State.Arguments,
    using configuration: QueryTaskConfiguration? = nil
  ) -> QueryTask<State.Value> {
    self.attemptTask(arguments, .mutate, in: self.taskContext(configuration))
  }

  /// Schedules an attempt without starting it, with a context instead of the store's.
  @discardableResult
  public func mutateTask(
    with arguments: State.Arguments,
    using context: QueryContext
  ) -> QueryTask<State.Value> {
    self.attemptTask(arguments, .mutate, in: context)
  }

  /// Schedules an attempt with the arguments of the latest one without starting it.
  ///
  /// - Parameter configuration: What the attempt runs with, as for `retryLatest`.
  @discardableResult
  public func retryLatestTask(
    using configuration: QueryTaskConfiguration? = nil
  ) -> QueryTask<State.Value> {
    self.attemptTask(nil, .retryLatest, in: self.taskContext(configuration))
  }

  /// Schedules an attempt with the arguments of the latest one without starting it, with a context
  /// instead of the store's.
  @discardableResult
  public func retryLatestTask(using context: QueryContext) -> QueryTask<State.Value> {
    self.attemptTask(nil, .retryLatest, in: context)
  }

  private func attemptTask(
    _ arguments: State.Arguments?,
    _ name: TaskNames.Kind,
    in context: QueryContext
  ) -> QueryTask<State.Value> {
    self.makeTask(in: context, name: name, isRunAtOnce: false) {
      $0[QueryContext.MutationArgumentsKey<State.Arguments>.self] = arguments
    }
    .held()
    .map(\.returnValue)
  }
}

// MARK: - Without arguments

extension QueryStore where State: _MutationStateProtocol, State.Arguments == Void {
  /// Makes an attempt of a mutation that takes no arguments.
  ///
  /// See ``mutate(with:dependsOn:using:handler:)-(_,_,QueryTaskConfiguration?,_)``.
  @discardableResult
  public func mutate(
    dependsOn dependencies: [UUID] = [],
    using configuration: QueryTaskConfiguration? = nil,
    handler: MutationEventHandler<State.Arguments, State.Value> = .init()
  ) async throws -> State.Value {
    try await self.mutate(
      with: (), dependsOn: dependencies, using: configuration, handler: handler)
  }

  /// Makes an attempt of a mutation that takes no arguments, with a context instead of the store's.
  @discardableResult
  public func mutate(
    dependsOn dependencies: [UUID] = [],
    using context: QueryContext,
    handler: MutationEventHandler<State.Arguments, State.Value> = .init()
  ) async throws -> State.Value {
    try await self.mutate(with: (), dependsOn: dependencies, using: context, handler: handler)
  }

  /// Schedules an attempt of a mutation that takes no arguments.
  @discardableResult
  public func mutateTask(
    using configuration: QueryTaskConfiguration? = nil
  ) -> QueryTask<State.Value> {
    self.mutateTask(with: (), using: configuration)
  }

  /// Schedules an attempt of a mutation that takes no arguments, with a context instead of the
  /// store's.
  @discardableResult
  public func mutateTask(using context: QueryContext) -> QueryTask<State.Value> {
    self.mutateTask(with: (), using: context)
  }
}

// MARK: - Subscribing

extension QueryStore where State: _MutationStateProtocol {
  /// Calls a handler with the state now, and with every event from now on.
  ///
  /// - Parameter handler: Receives the events.
  public func subscribe(
    with handler: MutationEventHandler<State.Arguments, State.Value>
  ) -> QuerySubscription {
    self.subscribe(handler.storeHandler(for: State.self) ?? StoreHandler())
  }
}

// MARK: - Detached

extension QueryStore {
  /// Creates a store that no client knows, for a mutation.
  ///
  /// - Parameters:
  ///   - mutation: The request.
  ///   - initialValue: The value before the first attempt.
  ///   - initialContext: The context that the request sets up.
  @inlinable
  public static func detached<Mutation: MutationRequest>(
    mutation: Mutation,
    initialValue: Mutation.ReturnValue? = nil,
    initialContext: QueryContext = QueryContext()
  ) -> QueryStore<MutationState<Mutation.Arguments, Mutation.ReturnValue>>
  where State == MutationState<Mutation.Arguments, Mutation.ReturnValue> {
    .detached(
      query: mutation,
      initialState: MutationState(initialValue: initialValue),
      initialContext: initialContext
    )
  }

  /// Creates a store that no client knows, for a mutation.
  ///
  /// - Parameters:
  ///   - mutation: The request.
  ///   - initialState: The state to start with.
  ///   - initialContext: The context that the request sets up.
  @inlinable
  public static func detached<Mutation: MutationRequest>(
    mutation: Mutation,
    initialState: Mutation.State,
    initialContext: QueryContext = QueryContext()
  ) -> QueryStore<MutationState<Mutation.Arguments, Mutation.ReturnValue>>
  where State == MutationState<Mutation.Arguments, Mutation.ReturnValue> {
    .detached(query: mutation, initialState: initialState, initialContext: initialContext)
  }
}
