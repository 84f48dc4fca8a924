public import Query

extension QueryClient {
  /// Registers durable mutations with a new replayer and runs it, as long as the result is kept.
  ///
  /// ```swift
  /// let replaying = try client.startReplaying(create, rename)
  /// ```
  /// - Parameters:
  ///   - mutations: All durable mutations that this program sends, each with its `persisted(as:)`.
  ///   - network: Says whether there is a network; nil: the client's observer, and without one there
  ///     always is.
  ///   - configuration: Limits how much is sent at a time.
  /// - Returns: The run. It ends when that is stopped or released.
  /// - Throws: ``ReplayError``; `MutationDeclarationError` and `QueryIdentityError`, which say what is wrong
  ///   with a declaration; `StorageError` if the client has no storage. Nothing runs then.
  public func startReplaying<each Mutation: MutationRequest>(
    _ mutations: repeat each Mutation,
    network: (any NetworkObserver)? = nil,
    configuration: ReplayConfiguration = ReplayConfiguration()
  ) throws -> Replaying {
    let replayer = MutationReplayer(client: self, network: network, configuration: configuration)
    for mutation in repeat each mutations { try replayer.register(mutation) }
    return try replayer.start()
  }
}

extension MutationReplayer {
  /// Runs it, as long as the result is kept. Take the ``events`` before, to miss none.
  ///
  /// ```swift
  /// let replayer = MutationReplayer(client: client)
  /// try replayer.register(create)
  /// let events = replayer.events
  /// let replaying = try replayer.start()
  /// ```
  /// - Returns: The run. It ends when that is stopped or released.
  /// - Throws: `StorageError` if the client has no storage. Nothing runs then.
  public func start() throws -> Replaying {
    _ = try self.parts()
    return Replaying(self)
  }
}

/// A replayer that runs as long as this is kept: see `QueryClient.startReplaying` and
/// ``MutationReplayer/start()``.
public final class Replaying: Sendable {
  /// The replayer, for its events, and for more registrations.
  public let replayer: MutationReplayer

  private let run: Task<Void, Never>

  init(_ replayer: MutationReplayer) {
    self.replayer = replayer
    // It ends by being cancelled; it repeats what the storage refuses.
    self.run = Task { try? await replayer.run() }
  }

  deinit { self.run.cancel() }

  /// Stops it, and returns when its attempts have ended, and their mutations are pending again. While the disk
  /// refuses to record how an attempt has ended, that is tried again, until the storage is closed.
  public func stop() async {
    self.run.cancel()
    await self.run.value
  }

  /// Begins no more attempts, and returns when those that run have ended by themselves, as a service does
  /// that is told to end. The replayer begins nothing after that, be it run again, and its events end. Nothing of
  /// this is on disk: another process, or another replayer, goes on. While one call waits, another one may set a
  /// shorter limit.
  ///
  /// - Parameter limit: How long that may take; what still runs then is stopped as by ``stop()``.
  public func finish(within limit: Duration = .seconds(30)) async {
    self.replayer.ledger.close()
    let (clock, run) = (self.replayer.configuration.clock, self.run)
    let end = clock.now() + limit
    let timer = Task {
      try await clock.sleep(end)
      run.cancel()
    }
    await run.value
    timer.cancel()
    self.replayer.hub.end()
  }
}
