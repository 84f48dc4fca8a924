public import Foundation

/// A mutation that is committed, on its way to the attempt that was made for it.
///
/// Where that is never begun, the lease is given back.
@usableFromInline
final class AttemptAdmission: Sendable {
  private struct Guarded {
    var lease: MutationLease?
    var report: AttemptReport?
    var waiter: CheckedContinuation<AttemptReport, Never>?
  }

  let id: UUID
  let idempotencyKey: String
  /// The lane; nil: one of its own.
  let lane: String?
  /// Whether a replayer makes the attempt, which does not wait where it cannot be made.
  let isReplayers: Bool
  /// Whether the history may have an entry for the mutation.
  let isOld: Bool

  private let outbox: any MutationOutbox
  private let guarded: Locked<Guarded>

  init(
    _ entry: OutboxEntry,
    lease: MutationLease?,
    outbox: any MutationOutbox,
    isReplayers: Bool = false,
    isOld: Bool = true
  ) {
    self.id = entry.id
    self.idempotencyKey = entry.idempotencyKey
    self.lane = entry.lane
    self.isReplayers = isReplayers
    self.isOld = isOld
    self.outbox = outbox
    self.guarded = Locked(Guarded(lease: lease))
  }

  deinit {
    guard let lease = self.takeLease() else { return }
    let outbox = self.outbox
    // Where this fails too, the end of the lease gives it back.
    Task.detached { _ = try? await outbox.settle(lease, .unbegun) }
  }

  /// The lease, for whoever asks first.
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

  /// How the attempt ended, once that is committed. To be called when the task of the attempt has ended.
  func finalReport() async -> AttemptReport {
    if let lease = self.takeLease() {
      // The task was cancelled before it began.
      _ = try? await self.outbox.settle(lease, .unbegun)
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

extension QueryContext {
  /// The mutation that is committed already for the attempt with this context.
  @usableFromInline
  var attemptAdmission: AttemptAdmission? {
    get { self[AttemptAdmissionKey.self] }
    set { self[AttemptAdmissionKey.self] = newValue }
  }

  @usableFromInline
  enum AttemptAdmissionKey: Key {
    @inlinable static var defaultValue: AttemptAdmission? { nil }
  }

  /// What the mutation of this context depends on.
  @usableFromInline
  var mutationDependencies: [UUID] {
    get { self[MutationDependenciesKey.self] }
    set { self[MutationDependenciesKey.self] = newValue }
  }

  @usableFromInline
  enum MutationDependenciesKey: Key {
    @inlinable static var defaultValue: [UUID] { [] }
  }
}

/// The lanes whose attempts the current task is inside of: waiting there for a mutation of the same lane
/// would never end.
enum AttemptScope {
  @TaskLocal static var lanes: Set<String> = []
}
