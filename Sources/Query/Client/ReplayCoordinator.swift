import FoundationEssentials

/// What a client knows of the durable mutations that wait: which queries they will change, and whether
/// anybody is sending them.
///
/// A query that is refetched when the network is back waits for the mutations that touch it, so
/// that it does not fetch a value that is about to change.
package final class ReplayCoordinator: Sendable {
  private struct Guarded {
    var stores = [WeakStore]()
    /// With how many those are dropped that are gone.
    var sweepCount = 16
    /// What each run of a replayer can send.
    var runs = [Int: @Sendable (MutationHandler) -> Bool]()
    var lastRun = 0
    /// The names of which a warning has said that no replayer sends them.
    var reported = Set<String>()
  }

  private struct WeakStore: Sendable {
    weak let store: (any TouchingStore)?
  }

  private let guarded = Locked(Guarded())

  /// How long a refetch waits at most.
  package static let patience = Duration.seconds(5)

  /// Records that a replayer of the client runs from now on.
  ///
  /// - Parameter canRun: Whether it can send a mutation.
  /// - Returns: The number of the run, for ``runEnded(_:)``.
  package func runBegan(_ canRun: @escaping @Sendable (MutationHandler) -> Bool) -> Int {
    self.guarded.withLock { coordinator in
      coordinator.lastRun += 1
      coordinator.runs[coordinator.lastRun] = canRun
      return coordinator.lastRun
    }
  }

  /// Records that a run has ended.
  package func runEnded(_ run: Int) { self.guarded.withLock { $0.runs[run] = nil } }

  /// Reports, once for each name, that a mutation waits which no replayer of the client can send, although
  /// one runs: its registration was forgotten.
  func willWait(_ handler: MutationHandler) {
    let runs = self.guarded.withLock { coordinator in
      coordinator.reported.contains(handler.name) ? [] : Array(coordinator.runs.values)
    }
    if runs.isEmpty || runs.contains(where: { $0(handler) }) { return }
    let isNew = self.guarded.withLock { $0.reported.insert(handler.name).inserted }
    if isNew { QueryWarning.mutationNotRegistered(name: handler.name).report() }
  }

  func add(_ store: any TouchingStore) {
    // Released after the lock: each may be the last reference.
    let living = self.guarded.withLock { coordinator in
      coordinator.stores.append(WeakStore(store: store))
      guard coordinator.stores.count >= coordinator.sweepCount else { return [any TouchingStore]() }
      // As seldom as their number doubles: there may be a store for each of 100 000 records.
      let living = coordinator.stores.compactMap(\.store)
      coordinator.stores = living.map { WeakStore(store: $0) }
      coordinator.sweepCount = max(16, living.count * 2)
      return living
    }
    withExtendedLifetime(living) {}
  }

  /// How many stores are listed, with those that are gone and not swept yet.
  var knownStoreCount: Int { self.guarded.withLock { $0.stores.count } }

  /// The waiting mutations that will change a query, if a replayer sends them.
  func touching(_ path: QueryPath) -> [TouchingMutations] {
    let stores = self.guarded.withLock { coordinator in
      !coordinator.runs.isEmpty ? coordinator.stores.compactMap(\.store) : []
    }
    return stores.compactMap { $0.touching(path) }
  }
}

extension QueryWarning {
  /// A durable mutation waits, and the client's replayer does not know it.
  ///
  /// - Parameter name: The name that it was persisted as.
  public static func mutationNotRegistered(name: String) -> QueryWarning {
    """
    A mutation "\(name)" waits, and the client's replayer cannot send it. Register it, or name it in \
    startReplaying.
    """
  }
}

/// Mutations that will change a query.
struct TouchingMutations: Sendable {
  let outbox: any MutationOutbox
  let ids: [UUID]

  /// Returns when no mutation of them waits any more, or the time is over.
  func wait(
    atMost patience: Duration, by sleep: @escaping @Sendable (Duration) async throws -> Void
  ) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.waitUntilNoneIsLive() }
      group.addTask { try? await sleep(patience) }
      await group.next()
      group.cancelAll()
    }
  }

  private func waitUntilNoneIsLive() async {
    let watch = OutboxWatch(self.outbox)
    while self.ids.contains(where: self.isLive) {
      do { try await watch.nextChange() } catch { return }
    }
  }

  private func isLive(_ id: UUID) -> Bool {
    switch try? self.outbox.standing(of: id) {
    case .pending?, .leased?: true
    case .dead?, .ended?, .unknown?, nil: false
    }
  }
}

/// The store of a durable mutation, as a ``ReplayCoordinator`` knows it.
protocol TouchingStore: AnyObject, Sendable {
  /// The waiting mutations that will change a query; nil if there are none.
  func touching(_ path: QueryPath) -> TouchingMutations?
}
