public import Query

/// Sends the durable mutations of a client's storage that are due: those that could not be sent when
/// they were made, and those of processes that are gone.
///
/// ```swift
/// let replayer = MutationReplayer(client: client, network: SystemNetworkObserver.shared)
/// try replayer.register(CreateNote().persisted(as: "create-note"))
/// try await replayer.run()   // until its task is cancelled
/// ```
/// A mutation goes through the client's store for it, so that its state, history and handlers show it
/// like any attempt. Any number of replayers may run, in any number of processes: none of them runs a
/// mutation that another one runs. Without a network nothing is tried, and nothing counted as tried.
public final class MutationReplayer: Sendable {
  private let client: QueryClient?
  private let outbox: @Sendable () -> (any MutationOutbox)?
  private let network: (any NetworkObserver)?
  private let configuration: ReplayConfiguration
  private let registry = Locked(HandlerRegistry())
  private let hub = ReplayEventHub()
  let ledger: ReplayLedger

  /// Creates a replayer. It does nothing before it is run.
  ///
  /// - Parameters:
  ///   - client: Whose storage is meant, and whose stores show the attempts.
  ///   - network: Says whether there is a network. Nil: that of the client, and where that has none,
  ///     there always is.
  ///   - configuration: How much is sent at a time.
  public init(
    client: QueryClient,
    network: (any NetworkObserver)? = nil,
    configuration: ReplayConfiguration = ReplayConfiguration()
  ) {
    self.client = client
    self.outbox = { client.defaultContext.queryStorage?.outbox }
    self.network = network
    self.configuration = configuration.inBounds
    self.ledger = ReplayLedger(configuration.inBounds)
  }

  /// Creates a replayer of an outbox without a client, for runners that need none.
  init(
    outbox: any MutationOutbox,
    network: (any NetworkObserver)? = nil,
    configuration: ReplayConfiguration = ReplayConfiguration()
  ) {
    self.client = nil
    self.outbox = { outbox }
    self.network = network
    self.configuration = configuration.inBounds
    self.ledger = ReplayLedger(configuration.inBounds)
  }

  /// What it does, and what it sees in the outbox, from now on: a stream of its own at each access,
  /// with the newest 256 events that were not taken yet.
  public var events: some AsyncSequence<ReplayEvent, Never> & Sendable {
    self.hub.makeEvents(of: self.outbox())
  }
}

// MARK: - Registering

extension MutationReplayer {
  /// Lets the replayer send a mutation. Those in the outbox that nobody registers wait.
  ///
  /// - Parameter mutation: The mutation, with its `persisted(as:)`. Registering it again replaces the
  ///   earlier one; other instances of its type may have the same name.
  /// - Throws: ``ReplayError``; `MutationDeclarationError` and `QueryIdentityError`, which say what is
  ///   wrong with the name, the options or the path; `StorageError` where the client has no storage.
  public func register<M: MutationRequest>(_ mutation: M) throws {
    guard let runner = try self.client?.durableRunner(for: mutation) else {
      throw ReplayError.notPersisted(typeName: mutation._debugTypeName)
    }
    try self.register(runner)
  }

  /// Which mutations of the outbox it can send.
  package var handlers: Set<MutationHandler> { self.registry.withLock { $0.handlers } }

  func register(_ runner: any DurableRunner) throws {
    try self.registry.withLock { try $0.add(runner) }
    self.ledger.wakeAll()
  }
}

// MARK: - Running

extension MutationReplayer {
  /// Sends what is due, and whatever becomes due, until the task is cancelled, or as many attempts were
  /// made as the configuration allows. A storage that fails is asked again.
  ///
  /// Several runs of one replayer share its limits.
  ///
  /// - Throws: `CancellationError` where it is cancelled, when the attempts that ran were and are
  ///   pending again; `StorageError` where the client has no storage.
  public func run() async throws {
    self.client?.replayCoordinator.runBegan()
    defer { self.client?.replayCoordinator.runEnded() }
    try await ReplayRun(self.parts(), until: .never).run()
  }

  /// Sends all that is due, until nothing is. What waits for its time goes on waiting; where that is
  /// over before the rest was sent, it is tried again, but not for ever.
  ///
  /// - Parameter deadline: After this time nothing more is begun, and attempts that run are cancelled:
  ///   their mutations are pending then, and count as failed.
  /// - Returns: What became of the mutations.
  /// - Throws: `CancellationError`, as ``run()``; `StorageError`.
  public func replayOnce(deadline: Duration? = nil) async throws -> ReplaySummary {
    let end = deadline.map { self.configuration.clock.now() + $0 }
    let run = ReplayRun(try self.parts(), until: .whenNothingIsDue(by: end))
    try await run.run()
    return try run.summary()
  }

  /// Lets all lanes go on, in every process, that wait for other credentials.
  ///
  /// - Throws: `StorageError`.
  public func credentialsChanged() async throws {
    try await self.parts().outbox.release(.authentication)
  }

  private func parts() throws -> ReplayParts {
    guard let outbox = self.outbox() else {
      throw StorageError(
        operation: "replay", code: .misuse, message: "the client has no storage to replay from")
    }
    let context = self.client?.defaultContext
    return ReplayParts(
      outbox: outbox,
      network: self.network ?? context?.networkObserver,
      requiredStatus: context?.satisfiedConnectionStatus ?? .connected,
      configuration: self.configuration,
      ledger: self.ledger,
      events: self.hub,
      registry: { self.registry.withLock { $0 } }
    )
  }
}
