public import FoundationEssentials
public import Query

/// What a ``MutationReplayer`` does, and what it sees in its outbox.
public enum ReplayEvent: Hashable, Sendable {
  /// A mutation was committed.
  case enqueued(UUID)
  /// A mutation was leased by this process.
  case claimed(UUID)
  /// The replayer begins an attempt of the mutation, counted from 1.
  case attemptStarted(UUID, number: Int)
  /// An attempt of the replayer failed.
  ///
  /// - Parameters:
  ///   - failure: The class of the failure.
  ///   - next: What the mutation waits for now; nil if it is due at once.
  case attemptFailed(UUID, MutationFailure, next: MutationWaitReason?)
  /// An attempt of the replayer has ended, in whatever way.
  ///
  /// - Parameters:
  ///   - host: What it was sent to; the mutation's name if that is not known.
  ///   - duration: How long the attempt took, by the clock of the replayer.
  ///   - waited: How long the mutation had been in the outbox when the attempt began, by the wall
  ///     clock.
  case attemptEnded(UUID, host: String, duration: Duration, waited: Duration)
  /// An attempt of the replayer has sent so much of its upload: told in steps of a hundredth.
  case progress(UUID, MutationProgress)
  /// Mutations wait because no handler for them is registered with this replayer. It is told when a
  /// run begins, when handlers were registered, and when a kind appears in this process later.
  case unhandled(name: String, version: Int, count: Int)
  /// So many events before the next one were dropped, because this reader took them too slowly.
  case dropped(Int)
  /// The replayer has nothing to send at the moment, but something is pending.
  case waiting(ReplayWait)
  /// A mutation succeeded.
  case succeeded(UUID)
  /// A mutation is dead.
  case dead(UUID, MutationDeadReason)
  /// A mutation was cancelled.
  case cancelled(UUID)
  /// A mutation was superseded, by another one or by what the server has.
  case superseded(UUID, by: UUID?)
  /// This process no longer held the lease of a mutation when its attempt ended.
  case leaseLost(UUID)
  /// A mutation whose process has exited is pending again.
  case reaped(UUID)
  /// Nothing is pending, and nothing runs.
  case drained
}

/// What a ``MutationReplayer`` waits for.
public enum ReplayWait: Hashable, Sendable {
  /// The network.
  case network
  /// The time at which the next mutation is due, or anything that changes the outbox.
  case outbox
  /// The storage, which could not be read or written: the replayer tries it again.
  case storage(RestoredError)
}

extension ReplayEvent {
  /// What an event of the outbox means to listeners of the replayer; nil if nothing.
  init?(_ event: OutboxEvent) {
    switch event {
    case .enqueued(let id): self = .enqueued(id)
    case .claimed(let id): self = .claimed(id)
    case .reaped(let id): self = .reaped(id)
    case .succeeded(let id): self = .succeeded(id)
    case .dead(let id, let reason): self = .dead(id, reason)
    case .cancelled(let id): self = .cancelled(id)
    case .superseded(let id, let successor): self = .superseded(id, by: successor)
    case .changedByAnotherProcess, .pending, .discarded, .released, .erased: return nil
    }
  }

  /// The event for the end of an attempt; nil if the outbox reports that end itself.
  init?(_ report: AttemptReport, of id: UUID) {
    switch report {
    case .pending(let failure, let reason): self = .attemptFailed(id, failure, next: reason)
    case .leaseLost: self = .leaseLost(id)
    case .succeeded, .leftOut, .dead, .superseded, .cancelled: return nil
    }
  }
}
