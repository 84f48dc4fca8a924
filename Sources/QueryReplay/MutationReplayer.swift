public import Query

/// Sends the durable mutations of a client's storage that are due: those that could not be sent
/// when they were made, and those of processes that have exited.
///
/// ```swift
/// let replayer = MutationReplayer(client: client, network: SystemNetworkObserver.shared)
/// try replayer.register(CreateNote().persisted(as: "create-note"))
/// try await replayer.run()   // until its task is cancelled
/// ```
/// A mutation goes through the client's store for it, so that its state, history and handlers show
/// it like any attempt. Any number of replayers may run, in any number of processes: no two of them
/// run the same mutation. Without a network each host is tried by one mutation at a time, at once and
/// then after pauses of 30 s to 5 min while it is not reached, which counts for nothing: the system may
/// be wrong, and a server of the same site needs no way to everywhere. Behind a portal nothing is
/// tried, since the portal would take the write. Mutations with `attemptsWhileOffline()` are sent as
/// ever.
public final class MutationReplayer: Sendable {
  private let client: QueryClient?
  private let outbox: @Sendable () -> (any MutationOutbox)?
  private let network: (any NetworkObserver)?
  let configuration: ReplayConfiguration
  private let registry = Locked(HandlerRegistry())
  let hub = ReplayEventHub()
  let ledger: ReplayLedger
  private let registrations = Locked(QuerySubscription.empty)

  /// Creates a replayer. It does nothing before it is run. It sends what its client knows by
  /// `QueryClient.register`, and what is registered with it.
  ///
  /// - Parameters:
  ///   - client: The client whose storage is replayed, and whose stores show the attempts.
  ///   - network: Says whether there is a network; `.always`: there is one always. Nil: the client's
  ///     observer; if the client has none, the replayer assumes that there always is a network.
  ///   - configuration: Limits how much is sent at a time.
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
    let subscription = client.onRegistration { [weak self] runner in self?.take(runner) }
    self.registrations.withLock { $0 = subscription }
    for runner in client.registeredRunners { self.take(runner) }
  }

  /// Creates a replayer of an outbox without a client, for runners that do not need one.
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

  /// What it does, and what it sees in the outbox, from now on: each access returns a stream of its
  /// own, which keeps the newest 256 events not yet taken and tells how many it dropped. It ends when the
  /// replayer has finished: see ``Replaying/finish(within:)``.
  public var events: some AsyncSequence<ReplayEvent, Never> & Sendable {
    self.hub.makeEvents(of: self.outbox())
  }
}

// MARK: - Registering

extension MutationReplayer {
  /// Lets the replayer send a mutation, whose store the client makes if it has none: its edits are shown
  /// from then on. A mutation in the outbox that nobody registers waits.
  ///
  /// - Parameter mutation: The mutation, with its `persisted(as:)`. Registering it again replaces the
  ///   earlier one; other instances of its type may have the same name.
  /// - Throws: ``ReplayError``; `MutationDeclarationError` and `QueryIdentityError`, which say what is
  ///   wrong with the name, the options or the path; `StorageError` if the client has no storage.
  public func register<M: MutationRequest>(_ mutation: M) throws {
    guard let runner = try self.client?.durableRunner(for: mutation) else {
      throw ReplayError.notPersisted(typeName: mutation._debugTypeName)
    }
    try self.register(runner)
  }

  /// Which mutations of the outbox it can send.
  package var handlers: Set<MutationHandler> { self.registry.withLock { $0.handlers } }

  /// The instances of a name that have live or dead mutations in the outbox.
  ///
  /// - Throws: `StorageError`.
  package func instances(of name: String) throws -> Set<String> {
    Set(try self.parts().outbox.entries().lazy.filter { $0.name == name }.map(\.instance))
  }

  /// The instances of a name that have pending mutations in the outbox.
  ///
  /// - Throws: `StorageError`.
  package func waitingInstances(of name: String) throws -> Set<String> {
    Set(try self.parts().outbox.pendingKinds().keys.lazy.filter { $0.name == name }.map(\.instance))
  }

  /// Takes what the client knows. Of two types with one name the first is sent.
  private func take(_ runner: any DurableRunner) { try? self.register(runner) }

  func register(_ runner: any DurableRunner) throws {
    try self.registry.withLock { try $0.add(runner) }
    self.ledger.noteHandler()
    self.ledger.wakeAll()
  }
}

// MARK: - Running

extension MutationReplayer {
  /// Sends what is due, and whatever becomes due, until the task is cancelled, or as many attempts were
  /// made as the configuration allows. If the storage fails, the replayer tries it again.
  ///
  /// Several runs of one replayer share its limits.
  ///
  /// - Throws: `CancellationError` if it is cancelled, once its running attempts have ended and are
  ///   pending again; `StorageError` if the client has no storage.
  public func run() async throws {
    let coordinator = self.client?.replayCoordinator
    let number = coordinator?.runBegan { [registry] handler in
      registry.withLock { $0.handlers.contains { $0.includes(handler) } }
    }
    defer { if let number { coordinator?.runEnded(number) } }
    try await ReplayRun(self.parts(), until: .never).run()
  }

  /// Sends everything due, until nothing is. A mutation that waits for its time goes on waiting; if
  /// its wait ends before the rest was sent, it is tried again, but not for ever. An attempt must not
  /// await this: it would wait for itself.
  ///
  /// - Parameter deadline: After this time nothing more is begun, and attempts that run are cancelled:
  ///   their mutations are pending then, and count as failed.
  /// - Returns: What became of the mutations.
  /// - Throws: `CancellationError`, as ``run()``; `StorageError`.
  public func replayOnce(deadline: Duration? = nil) async throws -> ReplaySummary {
    let end = deadline.map { self.configuration.clock.now() + $0 }
    let run = ReplayRun(try self.parts(), until: .whenNothingIsDue(by: end))
    // What was sent or refused is shown as that when this returns.
    defer { self.client?.showMutations() }
    try await run.run()
    return try run.summary()
  }

  /// Resumes, in every process, all lanes that wait for new credentials.
  ///
  /// - Throws: `StorageError`.
  public func credentialsChanged() async throws {
    try await self.parts().outbox.release(.authentication)
  }

  func parts() throws -> ReplayParts {
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
