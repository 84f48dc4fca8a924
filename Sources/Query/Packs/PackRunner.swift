import FoundationEssentials

/// Fetches one pack in this process: claims some members, fetches them, and settles them when their
/// values are on disk, over and over.
///
/// Locking: `guarded` has its own lock, under which nothing is called.
final class PackRunner: Sendable {
  private struct Guarded {
    var task: Task<Void, Never>?
    var observations = [QuerySubscription]()
    /// Whether members that wait for code are tried, too.
    var triesUnregistered: Bool
    /// Whether it has waited for the network, so that what failed is tried again.
    var wasOffline = false
    /// What could not be settled, since the storage could not write.
    var unsettled = [PackResult]()
    var network: PackNetwork
    /// How often it was begun anew: what a step finds that began before is not shown.
    var starts = 0
    /// What was tried again since then.
    var retries = PackRetries()
    /// Whether it was told to go on at once.
    var isUrged = false
  }

  /// How many members are claimed at a time: what a kill costs at most.
  static let batch = 16
  /// How many of them are fetched side by side.
  static let width = 4
  /// How long what was fetched waits at most for those beside it before it is counted.
  private static let settleInterval = Duration.milliseconds(500)
  /// How often it looks whether another process has died that fetches the rest.
  private static let patience = Duration.seconds(5)

  private let id: UUID
  private let pack: OfflinePack
  private let storage: any QueryStorage
  private weak let client: QueryClient?
  private weak let coordinator: PackCoordinator?
  private let signal = AsyncSignal()
  private let guarded: Locked<Guarded>

  init(
    _ stored: StoredPack, _ pack: OfflinePack, _ storage: any QueryStorage, _ client: QueryClient,
    _ coordinator: PackCoordinator
  ) {
    (self.id, self.pack, self.storage) = (stored.id, pack, storage)
    (self.client, self.coordinator) = (client, coordinator)
    self.guarded = Locked(Guarded(triesUnregistered: true, network: stored.network))
  }
}

// MARK: - Life

extension PackRunner {
  func start() {
    let signal = self.signal
    var observations = [QuerySubscription]()
    if let observer = self.client?.defaultContext.networkObserver {
      observations.append(observer.subscribe { _ in signal.wake() })
      if let observer = observer as? any NetworkCostObserver {
        observations.append(observer.subscribeToCost { _ in signal.wake() })
      }
    }
    let task = Task.detached { await self.run() }
    self.guarded.withLock { [observations] in
      $0.task = task
      $0.observations = observations
    }
  }

  /// Begins anew when it is woken: there is another list, or more code.
  func restart(_ stored: StoredPack) {
    self.guarded.withLock { guarded in
      guarded.triesUnregistered = true
      guarded.starts += 1
      guarded.retries = PackRetries()
      guarded.network = stored.network
    }
  }

  /// Goes on at once.
  func wake() {
    self.guarded.withLock { $0.isUrged = true }
    self.signal.wake()
  }

  /// Goes on if it waits for a change, but not before the end of a pause: what it has recorded itself is a
  /// change, too.
  func storageDidChange() { self.signal.wake() }

  /// Gives up what it fetches.
  func end() {
    let (task, observations) = self.guarded.withLock { guarded in
      defer { guarded.observations = [] }
      return (guarded.task, guarded.observations)
    }
    for observation in observations { observation.cancel() }
    task?.cancel()
  }

  func waitUntilEnded() async { await self.guarded.withLock { $0.task }?.value }

  /// - Parameter starts: When that was found; nil: it is always so.
  private func show(_ state: PackState, asOf starts: Int? = nil) {
    self.pack.show { status in
      if let starts, starts != self.guarded.withLock({ $0.starts }) { return }
      // What is gone stays so.
      if status.state != .stopped(.gone(pack: self.pack.name)) { status.state = state }
    }
  }
}

// MARK: - Work

extension PackRunner {
  /// What to do after a step.
  private enum Next {
    /// Another step at once.
    case goOn
    /// Another step when it is woken, or after a time.
    case wait(Duration?)
    /// Another step after a time, or when it is told to go on.
    case pause(Duration)
    /// Nothing any more.
    case end
  }

  private func run() async {
    work: while !Task.isCancelled {
      var next = Next.end
      do {
        next = try await self.step()
      } catch let error as StorageError where error.code != .misuse {
        self.show(.waiting(.storage(error)))
        // It is woken when the storage has recovered. If that was before, it looks again.
        next = .wait(Self.patience)
      } catch {
        // A cancellation, or the storage was closed.
        next = .end
      }
      switch next {
      case .goOn: continue
      case .wait(let duration): await self.wait(atMost: duration)
      case .pause(let duration): await self.pause(for: duration)
      case .end: break work
      }
    }
    self.pack.show { status in
      switch status.state {
      case .fetching, .waiting: status.state = .idle
      case .idle, .complete, .stopped: break
      }
    }
  }

  private func wait(atMost duration: Duration?) async {
    await withTaskGroup { group in
      group.addTask { await self.signal.wait() }
      if let duration { group.addTask { try? await Task.sleep(for: duration) } }
      await group.next()
      group.cancelAll()
    }
  }

  private func pause(for duration: Duration) async {
    let end = ContinuousClock.now + duration
    while !Task.isCancelled, !self.takeUrge() {
      let rest = end - .now
      if rest <= .zero { return }
      await self.wait(atMost: rest)
    }
  }

  private func takeUrge() -> Bool {
    self.guarded.withLock { guarded in
      defer { guarded.isUrged = false }
      return guarded.isUrged
    }
  }

  private func step() async throws -> Next {
    _ = self.takeUrge()
    try await self.settleLeftovers()
    guard let client, let coordinator else { return .end }
    let starts = self.guarded.withLock { $0.starts }
    if let wait = self.obstacle(in: client, starts) { return wait }
    if self.takeWasOffline() { _ = try await self.storage.packs.renew(self.id) }
    let request = PackClaimRequest(
      id: self.id, count: Self.batch, now: client.defaultContext.queryClock.now(),
      includesUnregistered: self.guarded.withLock { $0.triesUnregistered })
    guard let claim = try await self.storage.packs.claim(request) else {
      self.show(.stopped(.gone(pack: self.pack.name)))
      return .end
    }
    self.pack.show { $0.stored = claim.standing.pack }
    if claim.members.isEmpty { return self.rest(claim.standing, client, starts) }
    self.show(.fetching)
    let obstacle = try await self.fetchAndSettle(claim.members, client, coordinator, starts)
    try Task.checkCancellation()
    guard let obstacle else { return .goOn }
    // At once it would be the same members, and the same failure.
    self.show(.waiting(.storage(obstacle)), asOf: starts)
    return .pause(Self.patience)
  }

  /// Why nothing is fetched now; nil: nothing is in the way.
  private func obstacle(in client: QueryClient, _ starts: Int) -> Next? {
    let context = client.defaultContext
    guard let observer = context.networkObserver else {
      return self.costObstacle(nil, starts)
    }
    if observer.currentStatus < context.satisfiedConnectionStatus {
      self.guarded.withLock { $0.wasOffline = true }
      self.show(.waiting(.network), asOf: starts)
      return .wait(nil)
    }
    return self.costObstacle(observer as? any NetworkCostObserver, starts)
  }

  private func costObstacle(_ observer: (any NetworkCostObserver)?, _ starts: Int) -> Next? {
    guard self.guarded.withLock({ $0.network }) == .unmetered else { return nil }
    guard let observer else {
      self.show(.stopped(.networkCostUnknown(pack: self.pack.name)), asOf: starts)
      return .wait(nil)
    }
    if !observer.isMetered { return nil }
    self.show(.waiting(.unmeteredNetwork), asOf: starts)
    return .wait(nil)
  }

  /// The network may have become metered since a step began, and a list of pages may be long. The next step
  /// shows that it waits.
  private func requireNetwork(of client: QueryClient) throws {
    guard self.guarded.withLock({ $0.network }) == .unmetered else { return }
    let observer = client.defaultContext.networkObserver as? any NetworkCostObserver
    if observer?.isMetered != false { throw Metered() }
  }

  private func takeWasOffline() -> Bool {
    self.guarded.withLock { guarded in
      defer { guarded.wasOffline = false }
      return guarded.wasOffline
    }
  }

  /// Shows why there is nothing to fetch, and waits.
  private func rest(_ standing: PackStanding, _ client: QueryClient, _ starts: Int) -> Next {
    self.show(self.state(at: standing), asOf: starts)
    let pack = standing.pack
    if pack.counts.claimed > 0 { return .wait(Self.patience) }
    guard let date = pack.nextRefresh else { return .wait(nil) }
    let seconds = date.timeIntervalSince(client.defaultContext.queryClock.now())
    // By a clock that may jump, so it looks again now and then.
    return .wait(.seconds(min(max(seconds, 1), 3_600)))
  }

  /// The state of a pack of which nothing can be claimed.
  private func state(at standing: PackStanding) -> PackState {
    let (pack, counts) = (standing.pack, standing.pack.counts)
    if counts.claimed > 0 { return .waiting(.others) }
    if counts.waiting > 0 {
      let need = standing.room.need(for: counts)
      return .stopped(
        .noRoom(pack: pack.name, neededBytes: need, limit: standing.room.limit))
    }
    if counts.failed > 0 {
      let first = pack.failure ?? "unknown"
      return .stopped(.membersFailed(pack: pack.name, members: counts.failed, first: first))
    }
    if counts.unregistered > 0 {
      return .stopped(.notRegistered(pack: pack.name, members: counts.unregistered))
    }
    return .complete
  }
}

// MARK: - Fetching

extension PackRunner {
  /// Thrown between pages if there is no room for more.
  private struct NoRoom: Error {}

  /// Thrown before a member or a page if the network has become one that costs too much.
  private struct Metered: Error {}

  /// What became of one member.
  private struct Fetched: Sendable {
    let result: PackResult
    /// Why it was given up, if the storage has failed.
    var obstacle: StorageError?
  }

  /// Fetches what was claimed, and settles it: now and then what has come, so that progress is seen
  /// while a slow server answers, and the rest at the end.
  ///
  /// - Returns: What one was given up for, if nothing became of any.
  private func fetchAndSettle(
    _ members: [PackClaim.Member], _ client: QueryClient, _ coordinator: PackCoordinator,
    _ starts: Int
  ) async throws -> StorageError? {
    var results = [PackResult]()
    var hasFound = false
    var isAllReleased = true
    var obstacle: StorageError?
    await withTaskGroup(of: Fetched?.self) { group in
      var waiting = members[...]
      var underWay = 0
      func fill() {
        while underWay < Self.width, let member = waiting.popFirst() {
          underWay += 1
          group.addTask { await self.fetch(member, client, coordinator) }
        }
      }
      func pause() {
        group.addTask {
          try? await Task.sleep(for: Self.settleInterval)
          return nil
        }
      }
      fill()
      pause()
      while underWay > 0, let fetched = await group.next() {
        if let fetched {
          underWay -= 1
          fill()
          results.append(fetched.result)
          if fetched.result.outcome != .unregistered { hasFound = true }
          if fetched.result.outcome != .released { isAllReleased = false }
          obstacle = fetched.obstacle ?? obstacle
        } else if !Task.isCancelled {
          // What cannot be written now is kept for the next step.
          if !results.isEmpty { try? await self.settle(results) }
          results = []
          pause()
        }
      }
      group.cancelAll()
    }
    if !hasFound {
      self.guarded.withLock { guarded in
        // There may be more code since these were looked up.
        if guarded.starts == starts { guarded.triesUnregistered = false }
      }
    }
    try await self.settle(results)
    return isAllReleased ? obstacle : nil
  }

  private func fetch(
    _ claimed: PackClaim.Member, _ client: QueryClient, _ coordinator: PackCoordinator
  ) async -> Fetched {
    guard let member = coordinator.member(claimed, of: self.id) else {
      return Fetched(result: PackResult(of: claimed, .unregistered))
    }
    let fetch = PackFetch(
      identity: claimed.identity, pages: claimed.pages, begunAt: claimed.begunAt,
      isRefresh: claimed.isRefresh,
      isForced: self.guarded.withLock { $0.retries.isForced(claimed.identity) },
      requireNetwork: { try self.requireNetwork(of: client) },
      didFetchPages: { try await self.didFetchPages(of: claimed, wantsMore: $0) })
    do {
      try Task.checkCancellation()
      try self.requireNetwork(of: client)
      try await member.fetch(client, fetch)
      return Fetched(result: PackResult(of: claimed, .fetched))
    } catch {
      return Fetched(
        result: PackResult(of: claimed, self.outcome(of: error, claimed, client)),
        obstacle: error as? StorageError)
    }
  }

  private func outcome(
    of error: any Error, _ claimed: PackClaim.Member, _ client: QueryClient
  ) -> PackResult.Outcome {
    if Task.isCancelled || error is StorageError || error is Metered { return .released }
    // Of what is there the value stays. It would be due again at once, and is tried with the next refresh.
    if error is NoRoom { return claimed.isRefresh ? .failed(PackResult.noRoom) : .released }
    // It was cancelled by somebody else, as by a reset of its store.
    if error is CancellationError,
      self.guarded.withLock({ $0.retries.didCancel(claimed.identity) })
    {
      return .released
    }
    let context = client.defaultContext
    let isOffline =
      context.networkObserver.map { $0.currentStatus < context.satisfiedConnectionStatus } ?? false
    // Without a network nothing is learnt of the member.
    return isOffline ? .released : .failed(RestoredError(error).text)
  }

  private func didFetchPages(of member: PackClaim.Member, wantsMore: Bool) async throws {
    try await self.storage.flush()
    let now = self.client?.defaultContext.queryClock.now() ?? Date()
    let standing = try await self.storage.packs.settle(
      [PackResult(of: member, .underWay)], of: self.id, at: now)
    guard let standing else { throw CancellationError() }
    if wantsMore, standing.room.used >= standing.room.limit { throw NoRoom() }
  }
}

// MARK: - Settling

extension PackRunner {
  /// Records results. They are kept for later if the storage cannot write.
  ///
  /// - Parameter isLate: Whether they were kept for later.
  private func settle(_ results: [PackResult], isLate: Bool = false) async throws {
    var results = results
    let retries = self.guarded.withLock { $0.retries }
    for index in results.indices {
      results[index].isReleasedIfMissing =
        retries.allowMissing(results[index].identity, isLate: isLate)
    }
    do {
      // What the store has, the disk has not yet.
      try await self.storage.flush()
      let now = self.client?.defaultContext.queryClock.now() ?? Date()
      let standing = try await self.storage.packs.settle(results, of: self.id, at: now)
      guard let standing else { return }
      self.guarded.withLock { guarded in
        for identity in standing.missing { guarded.retries.didMiss(identity) }
      }
      self.pack.show { $0.stored = standing.pack }
    } catch {
      self.guarded.withLock { $0.unsettled += results }
      throw error
    }
  }

  private func settleLeftovers() async throws {
    let results = self.guarded.withLock { guarded in
      defer { guarded.unsettled = [] }
      return guarded.unsettled
    }
    if !results.isEmpty { try await self.settle(results, isLate: true) }
  }
}
