import FoundationEssentials

/// What a client knows of the durable mutations that wait: which queries they will change, and whether
/// anybody is sending them.
///
/// A query that is refetched when the network is back waits for the mutations that touch it, so
/// that it does not fetch a value that is about to change.
package final class ReplayCoordinator: Sendable {
  private struct Guarded {
    var stores = [WeakStore]()
    var runs = 0
  }

  private struct WeakStore: Sendable {
    weak let store: (any TouchingStore)?
  }

  private let guarded = Locked(Guarded())

  /// How long a refetch waits at most.
  package static let patience = Duration.seconds(5)

  /// Records that a replayer of the client runs from now on.
  package func runBegan() { self.guarded.withLock { $0.runs += 1 } }

  /// Says that it does so no more.
  package func runEnded() { self.guarded.withLock { $0.runs -= 1 } }

  func add(_ store: any TouchingStore) {
    self.guarded.withLock { coordinator in
      coordinator.stores.removeAll { $0.store == nil }
      coordinator.stores.append(WeakStore(store: store))
    }
  }

  /// The waiting mutations that will change a query, if a replayer sends them.
  func touching(_ path: QueryPath) -> [TouchingMutations] {
    let stores = self.guarded.withLock { coordinator in
      coordinator.runs > 0 ? coordinator.stores.compactMap(\.store) : []
    }
    return stores.compactMap { $0.touching(path) }
  }
}

/// Mutations that will change a query.
struct TouchingMutations: Sendable {
  let outbox: any MutationOutbox
  let ids: [UUID]

  /// Returns when no mutation of them waits any more, or the time is over.
  func wait(atMost patience: Duration) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.waitUntilNoneIsLive() }
      group.addTask { try? await Task.sleep(for: patience) }
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
