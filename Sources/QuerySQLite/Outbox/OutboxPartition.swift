import FoundationEssentials
import Query
import Synchronization

/// What a process knows of one account in `mutations.sqlite`, shared by all its storages of that
/// account.
///
/// Locking: `guarded` has its own lock, under which nothing is called.
final class OutboxPartition: Sendable {
  /// The outbox's calls to the rest of a storage.
  struct Hooks: Sendable {
    /// Reports an event of the file.
    var tell: @Sendable (StorageEvent) -> Void
    /// Invalidates the cache entries under paths, and reports whether that is written.
    var invalidate:
      @Sendable ([IdentityPrefix], ContinuousClock.Instant, @escaping @Sendable (Bool) -> Void) ->
        Void
    /// Finds the edits that some stored value does not have; nil if that cannot be found out now.
    var missing: @Sendable ([StandingEdit], @escaping @Sendable ([StandingEdit]?) -> Void) -> Void
    /// Lets the clients show what a call has made of a mutation.
    var show: @Sendable (MutationChange) -> Void
  }

  /// The name of the account.
  let name: String

  private struct Guarded {
    var handlers: Set<MutationHandler>?
    var hooks: Hooks?
  }

  private let guarded = Locked(Guarded())
  private let newestEnd = Atomic<Int64>(0)

  /// The newest sequence of the history that this process knows.
  var endedSequence: Int64 { self.newestEnd.load(ordering: .relaxed) }

  func noteEnded(_ sequence: Int64) { self.newestEnd.max(sequence, ordering: .relaxed) }

  /// The subscribers of events.
  let subscribers = RecipientList<OutboxEvent>()

  init(name: String) { self.name = name }

  /// The handlers that this process last claimed for; nil before its first claim.
  var handlers: Set<MutationHandler>? {
    get { self.guarded.withLock { $0.handlers } }
    set { self.guarded.withLock { $0.handlers = newValue } }
  }

  /// Reports events of the file, and invalidates the cache; nil until a storage is open.
  var hooks: Hooks? {
    get { self.guarded.withLock { $0.hooks } }
    set { self.guarded.withLock { $0.hooks = newValue } }
  }

  /// Sends events to all subscribers. Called by one thread alone, so that all see the same order.
  func send(_ events: [OutboxEvent]) {
    for event in events { event.probe() }
    self.subscribers.send(events)
  }
}
