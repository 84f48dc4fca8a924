import FoundationEssentials

/// A committed mutation, on its way to the attempt that was created for it.
///
/// If that attempt never begins, the lease is given back.
final class AttemptAdmission: AdmittedAttempt {
  private struct Guarded {
    var lease: MutationLease?
    var report: AttemptReport?
    var waiter: CheckedContinuation<AttemptReport, Never>?
  }

  let id: UUID
  let number: Int
  let idempotencyKey: String
  /// The lane; nil: one of its own.
  let lane: String?
  /// Whether a replayer makes the attempt: it does not wait if the attempt cannot be made.
  let isReplayers: Bool
  let isOld: Bool
  /// What a replayer has registered for it, a ``DurableDeclaration``; nil: the store's own.
  let declaration: (any Sendable)?
  /// The call that sends it together with others; nil: it is sent alone.
  let batch: BatchPlace?

  private let outbox: any MutationOutbox
  private let guarded: Locked<Guarded>

  init(
    _ entry: OutboxEntry,
    lease: MutationLease?,
    outbox: any MutationOutbox,
    declaration: (any Sendable)? = nil,
    isReplayers: Bool = false,
    isOld: Bool = true,
    batch: BatchPlace? = nil
  ) {
    self.id = entry.id
    self.number = entry.number
    self.idempotencyKey = entry.idempotencyKey
    self.lane = entry.lane
    self.isReplayers = isReplayers
    self.isOld = isOld
    self.declaration = declaration
    self.batch = batch
    self.outbox = outbox
    self.guarded = Locked(Guarded(lease: lease))
  }

  deinit {
    guard let lease = self.takeLease() else { return }
    let outbox = self.outbox
    Task.detached { await outbox.settlePatiently(lease, .unbegun) }
  }

  func giveBack() {
    guard let lease = self.takeLease() else { return }
    Task.detached {
      await self.outbox.settlePatiently(lease, .unbegun)
      self.report(.pending(.cancelled, nil))
    }
  }

  /// Whether the arguments with which the attempt was created are those of a lease: the call that committed the
  /// row has them, and a replayer, which has decoded them. Others come with those of an earlier attempt. With
  /// other arguments a row has another key.
  func hasArguments(of lease: MutationLease) -> Bool {
    (!self.isOld || self.isReplayers) && lease.entry.idempotencyKey == self.idempotencyKey
  }

  /// The lease, for the first caller.
  func takeLease() -> MutationLease? {
    self.guarded.withLock { admission in
      defer { admission.lease = nil }
      return admission.lease
    }
  }

  /// Says how the attempt ended.
  func report(_ report: AttemptReport) {
    let waiter = self.guarded.withLock { admission in
      defer { admission.waiter = nil }
      admission.report = report
      return admission.waiter
    }
    waiter?.resume(returning: report)
  }

  /// Sets how the attempt ended, once that is committed. Call it when the attempt's task has ended.
  func finalReport() async -> AttemptReport {
    if let lease = self.takeLease() {
      // The task was cancelled before it began.
      await self.outbox.settlePatiently(lease, .unbegun)
      return .pending(.cancelled, nil)
    }
    return await withCheckedContinuation { continuation in
      let report = self.guarded.withLock { admission in
        if admission.report == nil { admission.waiter = continuation }
        return admission.report
      }
      if let report { continuation.resume(returning: report) }
    }
  }
}

extension AttemptOutcome {
  /// That of an attempt that was cancelled before the mutation was called.
  fileprivate static var unbegun: AttemptOutcome {
    .failed(
      FailedAttempt(
        error: RestoredError(CancellationError()), outcome: MutationFailure.cancelled.word,
        isCharged: false, maybeApplied: false, next: .now))
  }
}

/// Whether the current task runs inside an attempt: waiting there for another mutation might never end,
/// as that one may wait for this one.
enum AttemptScope {
  @TaskLocal static var isInside = false
}
