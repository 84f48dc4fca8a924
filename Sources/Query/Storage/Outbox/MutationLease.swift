/// The right to run one attempt of a mutation, which a storage has given to this process.
///
/// The storage renews it on its own thread until it is settled, and revokes it if another process
/// has taken the row, or a caller has cancelled it.
public final class MutationLease: Sendable {
  /// Why a lease ended without being settled.
  public enum Revocation: Hashable, Sendable {
    /// This process no longer holds the row: nothing that the attempt did counts.
    case lost
    /// A caller has cancelled the mutation: the attempt should end, and is settled as it ends.
    case cancelRequested
  }

  private struct Guarded {
    var revocation: Revocation?
    var handler: (@Sendable (Revocation) -> Void)?
    var isGivenUp = false
    var givingUpHandler: (@Sendable () -> Void)?
    var progress: MutationProgress?
    var sent: Int64 = 0
    var steps = 0
    var hasEnded = false
    var progressHandlers = [@Sendable (MutationProgress) -> Void]()
    var term: Term?
  }

  private struct Term {
    let latestBeginning: Int64
    let clock: OutboxClock
  }

  /// The row; its `attempts` counts this one.
  public let entry: OutboxEntry
  /// Whether an attempt was made before this one, or the row was enqueued earlier.
  public let isReplay: Bool
  /// Tells this lease from an earlier lease of the row.
  public let token: Int
  /// The epoch of the partition: after an erasure nothing is settled.
  public let epoch: Int
  /// What the outbox knew of earlier attempts when it gave the lease.
  public let earlier: EarlierAttempts

  private let guarded = Locked(Guarded())

  /// Creates a lease, as a storage does. See the properties for what each is.
  public init(
    entry: OutboxEntry, isReplay: Bool, token: Int, epoch: Int,
    earlier: EarlierAttempts = EarlierAttempts()
  ) {
    self.entry = entry
    self.isReplay = isReplay
    self.token = token
    self.epoch = epoch
    self.earlier = earlier
  }

  /// Why it ended, if it was revoked.
  public var revocation: Revocation? { self.guarded.withLock { $0.revocation } }

  /// Ends the lease. Called by the storage, off its locks. A lost lease stays lost.
  ///
  /// - Parameter revocation: Why.
  public func revoke(_ revocation: Revocation) {
    let handler = self.guarded.withLock { lease -> (@Sendable (Revocation) -> Void)? in
      guard lease.revocation != .lost, lease.revocation != revocation else { return nil }
      lease.revocation = revocation
      return lease.handler
    }
    handler?(revocation)
  }

  /// Sets the callback for the attempt's progress from now on.
  package func whenProgressed(_ handler: @escaping @Sendable (MutationProgress) -> Void) {
    self.guarded.withLock { $0.progressHandlers.append(handler) }
  }

  /// How often the attempt has reported that it sent more, however little: while this grows, the attempt
  /// makes progress.
  package var steps: Int { self.guarded.withLock { $0.steps } }

  /// Reports how much the attempt has sent, at most some hundred times for an upload.
  func note(_ progress: MutationProgress) {
    let handlers = self.guarded.withLock { lease -> [@Sendable (MutationProgress) -> Void] in
      if progress.sent > lease.sent { lease.steps += 1 }
      lease.sent = progress.sent
      guard !lease.hasEnded, lease.revocation != .lost, progress.isNews(after: lease.progress)
      else { return [] }
      lease.progress = progress
      return lease.progressHandlers
    }
    for handler in handlers { handler(progress) }
  }

  /// Reports no more progress once the attempt has ended: its handler may have been abandoned.
  func endProgress() {
    let handlers = self.guarded.withLock { lease in
      lease.hasEnded = true
      defer { lease.progressHandlers = [] }
      return lease.progressHandlers
    }
    withExtendedLifetime(handlers) {}
  }

  /// Sets until when an attempt may begin: so long before the end of the lease that it is not the last
  /// moment. Called by the storage, again whenever it has extended the lease.
  ///
  /// - Parameters:
  ///   - moment: Microseconds of the clock's monotonic time.
  ///   - clock: The clock.
  package func mayBegin(until moment: Int64, by clock: OutboxClock) {
    self.guarded.withLock { $0.term = Term(latestBeginning: moment, clock: clock) }
  }

  /// Whether an attempt may begin. A process that did not move for a while, or could not extend its leases,
  /// has this lease only until another process takes the row, which the storage notices later.
  package var mayBegin: Bool {
    guard let term = self.guarded.withLock({ $0.term }) else { return true }
    return Int64(term.clock.now().monotonic) <= term.latestBeginning
  }

  /// Whether the attempt was given up: it ends, counts for nothing, and its mutation is due at once.
  package var isGivenUp: Bool { self.guarded.withLock { $0.isGivenUp } }

  /// Gives the attempt up, because the answer that it waits for may never come. If the answer arrives before
  /// the attempt has ended, it still counts.
  package func giveUp() {
    let handler = self.guarded.withLock { lease -> (@Sendable () -> Void)? in
      guard !lease.isGivenUp else { return nil }
      lease.isGivenUp = true
      return lease.givingUpHandler
    }
    handler?()
  }

  /// Sets the callback for the attempt being given up; called at once if it is already.
  package func whenGivenUp(_ handler: (@Sendable () -> Void)?) {
    let isGivenUp = self.guarded.withLock { lease in
      lease.givingUpHandler = handler
      return lease.isGivenUp
    }
    if isGivenUp { handler?() }
  }

  /// Sets the callback for a revocation; called at once if the lease is already revoked.
  func whenRevoked(_ handler: (@Sendable (Revocation) -> Void)?) {
    let revocation = self.guarded.withLock { lease in
      lease.handler = handler
      return lease.revocation
    }
    if let revocation { handler?(revocation) }
  }
}
