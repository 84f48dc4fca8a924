import FoundationEssentials

/// What to do about a failed attempt.
struct AttemptRuling: Sendable {
  /// The outcome to record.
  var outcome: AttemptOutcome
  /// The report for the replayer.
  var report: AttemptReport
  /// What the caller gets.
  var error: any Error
  /// Whether the caller of `mutate` goes on with the mutation: it is due at once.
  var isTriedAgain = false
}

extension DurableAttachment {
  /// Decides what to do about a failed attempt.
  func ruling(
    on error: any Error,
    _ lease: MutationLease,
    _ arguments: Arguments,
    in context: QueryContext
  ) async -> AttemptRuling {
    let verdict = self.verdict(on: error, context)
    if lease.revocation == .cancelRequested {
      return AttemptRuling(
        outcome: .cancelled(maybeApplied: verdict.maybeApplied), report: .cancelled,
        error: MutationEndedError(id: lease.entry.id, reason: .cancelled))
    }
    if verdict.failure == .conflict, let resolve = self.plan.options.onConflict {
      do {
        return self.ruling(
          on: error, verdict, lease, try await resolve(arguments, error, context), in: context)
      } catch {
        return self.ruling(on: error, self.verdict(on: error, context), lease, in: context)
      }
    }
    return self.ruling(on: error, verdict, lease, in: context)
  }

  /// The mutation's own classification if it has one; what the server may have done goes by the
  /// error.
  private func verdict(on error: any Error, _ context: QueryContext) -> FailureVerdict {
    var verdict = FailureVerdict(of: error)
    if error is MutationAliasError { verdict.maybeApplied = false }
    if verdict.limit != nil, OfflineProbe.isRunning {
      // An error that is not known is most likely that of the missing network.
      (verdict.failure, verdict.limit) = (.connectivity, nil)
    }
    guard let classify = self.plan.options.classify, let attempt = context.mutationAttempt else {
      return verdict
    }
    do {
      guard let failure = try classify(error, attempt) else { return verdict }
      verdict.failure = failure
      verdict.limit = nil
    } catch {
      verdict.failure = .transient(retryAfter: nil)
    }
    return verdict
  }

  private func ruling(
    on error: any Error,
    _ verdict: FailureVerdict,
    _ lease: MutationLease,
    in context: QueryContext
  ) -> AttemptRuling {
    if let alias = (error as? MutationAliasError)?.alias {
      return self.pending(
        .waitForAlias(alias), .dependency, error, verdict, lease, isCharged: false)
    }
    let failures = lease.entry.failures + (verdict.failure.isCharged ? 1 : 0)
    let limit = min(lease.entry.maxAttempts ?? .max, verdict.limit ?? .max)
    let backoff = context.mutationBackoff
    switch verdict.failure {
    case .connectivity:
      let reason: MutationWaitReason = context.isKnownToBeOffline ? .offline : .backoff
      let wait = backoff.delay(after: lease.entry.attempts)
      return self.pending(.wait(reason, wait), reason, error, verdict, lease)
    case .transient where failures >= limit: return self.dead(.exhausted, error, verdict, lease)
    case .transient(let retryAfter):
      let wait = backoff.delay(after: failures)
      let floor = min(retryAfter ?? .zero, .seconds(24 * 3_600))
      let reason: MutationWaitReason = floor > wait ? .retryAfter : .backoff
      return self.pending(.wait(reason, max(wait, floor)), reason, error, verdict, lease)
    case .authentication:
      return self.pending(.waitForCredentials, .authentication, error, verdict, lease)
    case .conflict: return self.dead(.conflict, error, verdict, lease)
    case .permanent: return self.dead(.rejected, error, verdict, lease)
    case .cancelled: return self.pending(.now, nil, error, verdict, lease)
    }
  }

  private func ruling(
    on error: any Error,
    _ verdict: FailureVerdict,
    _ lease: MutationLease,
    _ resolution: ConflictResolution<Arguments>,
    in context: QueryContext
  ) -> AttemptRuling {
    let failures = lease.entry.failures + 1
    switch resolution {
    case .giveUp: return self.dead(.conflict, error, verdict, lease)
    case .drop:
      return AttemptRuling(
        outcome: .failed(self.failed(.drop, error, verdict)), report: .superseded,
        error: MutationEndedError(id: lease.entry.id, reason: .superseded))
    case .retry where failures >= lease.entry.maxAttempts ?? .max:
      return self.dead(.exhausted, error, verdict, lease)
    case .retry(let arguments):
      let coder = self.plan.options.coder
      guard let data = try? self.plan.codec.encodeArguments(arguments, coder) else {
        return self.dead(.conflict, error, verdict, lease)
      }
      // The first answer to a conflict is tried at once. A mutation that conflicts again and again
      // must not keep the server busy.
      let wait: Duration =
        failures == 1 ? .zero : context.mutationBackoff.delay(after: failures - 1)
      var ruling = self.pending(
        .retry(arguments: data, key: UUID.random().uuidString, after: wait),
        wait == .zero ? nil : .backoff, error, verdict, lease)
      ruling.isTriedAgain = wait == .zero
      return ruling
    }
  }

  private func failed(
    _ next: FailedAttempt.Next,
    _ error: any Error,
    _ verdict: FailureVerdict,
    isCharged: Bool? = nil
  ) -> FailedAttempt {
    FailedAttempt(
      error: RestoredError(error), code: FailureVerdict.code(of: error),
      outcome: verdict.failure.word,
      isCharged: isCharged ?? verdict.failure.isCharged, maybeApplied: verdict.maybeApplied,
      next: next)
  }

  private func pending(
    _ next: FailedAttempt.Next,
    _ reason: MutationWaitReason?,
    _ error: any Error,
    _ verdict: FailureVerdict,
    _ lease: MutationLease,
    isCharged: Bool? = nil
  ) -> AttemptRuling {
    AttemptRuling(
      outcome: .failed(self.failed(next, error, verdict, isCharged: isCharged)),
      report: .pending(verdict.failure, reason),
      error: MutationQueuedError(
        id: lease.entry.id, idempotencyKey: lease.entry.idempotencyKey, waitReason: reason,
        underlyingError: error))
  }

  private func dead(
    _ reason: MutationDeadReason,
    _ error: any Error,
    _ verdict: FailureVerdict,
    _ lease: MutationLease
  ) -> AttemptRuling {
    AttemptRuling(
      outcome: .failed(self.failed(.dead(reason), error, verdict)), report: .dead(reason),
      error: error)
  }
}
