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

extension AttemptRuling {
  /// The ruling for a mutation that somebody cancelled while it ran.
  static func cancelled(_ id: UUID, maybeApplied: Bool) -> Self {
    Self(
      outcome: .cancelled(maybeApplied: maybeApplied), report: .cancelled,
      error: MutationEndedError(id: id, reason: .cancelled))
  }
}

extension DurableAttachment {
  /// Decides what to do about a failed attempt.
  func ruling(
    on error: any Error,
    _ lease: MutationLease,
    _ arguments: Arguments,
    in context: QueryContext
  ) async -> AttemptRuling {
    var verdict = self.verdict(on: error, context)
    if lease.revocation == .cancelRequested {
      return .cancelled(lease.entry.id, maybeApplied: verdict.maybeApplied)
    }
    if let left = error as? LeftOutOfBatch { return self.ruling(on: left, lease) }
    if let ruling = self.ruling(onEndOf: lease, error) { return ruling }
    if verdict.failure == .conflict, let resolve = self.plan(in: context).options.onConflict {
      do {
        let resolution = try await self.withinAttempt(lease, in: context) {
          try await resolve(arguments, error, context)
        }
        return self.ruling(on: error, verdict, lease, resolution, insteadOf: arguments, in: context)
      } catch {
        return self.ruling(on: error, self.verdict(on: error, context), lease, in: context)
      }
    }
    // If no caller has cancelled it, the handler has cancelled itself, and may do so every time.
    let isOwn = verdict.failure == .cancelled && !Task.isCancelled && !lease.isGivenUp
    if isOwn { verdict.limit = Self.unknownLimit }
    return self.ruling(on: error, verdict, lease, in: context)
  }

  /// Calls what belongs to an attempt after its handler has failed, for no longer than another attempt may
  /// take: the row is still leased, and its lane waits.
  ///
  /// - Throws: The call's error, and that of the time limit.
  private func withinAttempt<Answer: Sendable>(
    _ lease: MutationLease, in context: QueryContext,
    _ body: @escaping @Sendable () async throws -> Answer
  ) async throws -> Answer {
    let plan = self.plan(in: context)
    let call = AttemptCall<Answer>(in: context)
    // If the call waited for another mutation here, it might never end.
    let ending = await AttemptScope.$isInside.withValue(true) {
      await call.run(lease, limit: plan.options.attemptTimeout, body)
    }
    // If the lease is lost, what is written of the attempt does not count.
    let result = ending.result(named: plan.name, tooLong: plan.timeLimitError)
    return try (result ?? .failure(CancellationError())).get()
  }

  /// The ruling for a mutation that its batch did not send: it waits for its turn, and no failure counts.
  private func ruling(on error: LeftOutOfBatch, _ lease: MutationLease) -> AttemptRuling {
    let failed = FailedAttempt(
      error: RestoredError(error), outcome: MutationFailure.cancelled.word, isCharged: false,
      maybeApplied: error.maybeApplied, next: .now)
    return AttemptRuling(
      outcome: .failed(failed), report: .leftOut,
      error: MutationQueuedError(
        id: lease.entry.id, idempotencyKey: lease.entry.idempotencyKey, waitReason: nil,
        underlyingError: error))
  }

  /// The ruling for an error that a handler throws because it was cancelled. Whatever the error is, it says
  /// nothing about the mutation, which is due at once; no failure counts.
  ///
  /// - Returns: Nil if the handler was not cancelled, or if the error has the server's answer all the same.
  private func ruling(onEndOf lease: MutationLease, _ error: any Error) -> AttemptRuling? {
    guard lease.isGivenUp || Task.isCancelled else { return nil }
    let verdict = FailureVerdict(of: error)
    let isOfTheEnd =
      verdict.failure == .cancelled || verdict.limit != nil
      || lease.isGivenUp && verdict.failure == .connectivity
    guard isOfTheEnd, !(error is MutationAliasError) else { return nil }
    let failed = FailedAttempt(
      error: RestoredError(error), code: FailureVerdict.code(of: error),
      outcome: MutationFailure.cancelled.word, isCharged: false,
      maybeApplied: verdict.maybeApplied, next: .now)
    return AttemptRuling(
      outcome: .failed(failed), report: .pending(.cancelled, nil),
      error: MutationQueuedError(
        id: lease.entry.id, idempotencyKey: lease.entry.idempotencyKey, waitReason: nil,
        underlyingError: error))
  }

  /// How often a mutation may cancel itself.
  private static var unknownLimit: Int { 5 }

  private static var longestRetryAfter: Duration { .seconds(24 * 3_600) }

  private static var longestWaitForAnAnsweringHost: Duration { .seconds(15) }

  /// The shortest time for which a mutation is tried that fails for unknown reasons.
  private static var unknownTime: Duration { .seconds(24 * 3_600) }

  /// The mutation's own classification if it has one; what the server may have done goes by the
  /// error.
  func verdict(on error: any Error, _ context: QueryContext) -> FailureVerdict {
    var verdict = FailureVerdict(of: error)
    if error is MutationAliasError { verdict.maybeApplied = false }
    if verdict.limit != nil, OfflineProbe.isRunning {
      // While the network is down, an unknown error is most likely due to that.
      (verdict.failure, verdict.limit) = (.connectivity, nil)
    }
    guard let classify = self.plan(in: context).options.classify,
      let attempt = context.mutationAttempt
    else {
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
        .waitForAlias(alias), .dependency, error, verdict, lease, Charge(isCharged: false))
    }
    let charge = self.charge(for: error, verdict, lease, in: context)
    let failures = lease.entry.failures + (charge.isCharged ? 1 : 0)
    let isExhausted =
      charge.isCharged
      && (failures >= lease.entry.maxAttempts ?? .max || self.isHopeless(verdict, lease.earlier))
    let backoff = context.mutationBackoff
    switch verdict.failure {
    case .connectivity where isExhausted, .transient where isExhausted,
      .cancelled where isExhausted:
      return self.dead(.exhausted, error, verdict, lease, charge)
    case .connectivity:
      let reason: MutationWaitReason = context.isKnownToBeOffline ? .offline : .backoff
      // This answer was lost while others arrive: there is nothing to wait for.
      let wait =
        verdict.maybeApplied && lease.earlier.hostAnswers
        ? min(backoff.delay(after: max(failures, 1)), Self.longestWaitForAnAnsweringHost)
        : backoff.delay(after: lease.entry.attempts)
      return self.pending(.wait(reason, wait), reason, error, verdict, lease, charge)
    case .transient(let retryAfter):
      let wait = backoff.delay(after: failures)
      let floor = min(retryAfter ?? .zero, Self.longestRetryAfter)
      let reason: MutationWaitReason = floor > wait ? .retryAfter : .backoff
      return self.pending(.wait(reason, max(wait, floor)), reason, error, verdict, lease, charge)
    case .authentication:
      return self.pending(.waitForCredentials, .authentication, error, verdict, lease, charge)
    case .conflict: return self.dead(.conflict, error, verdict, lease, charge)
    case .permanent: return self.dead(.rejected, error, verdict, lease, charge)
    case .cancelled where charge.isCharged:
      let wait = backoff.delay(after: failures)
      return self.pending(.wait(.backoff, wait), .backoff, error, verdict, lease, charge)
    case .cancelled: return self.pending(.now, nil, error, verdict, lease)
    }
  }

  /// What a failure counts for. If answers are lost again and again while others arrive, the mutation itself
  /// may bring its server down.
  private func charge(
    for error: any Error, _ verdict: FailureVerdict, _ lease: MutationLease,
    in context: QueryContext
  ) -> Charge {
    var charge = Charge(verdict)
    charge.hostReport = self.hostReport(of: error, verdict, in: context)
    let earlier = lease.earlier
    if verdict.failure == .connectivity, verdict.maybeApplied, earlier.hostAnswers,
      earlier.endedUnreached, !context.isKnownToBeOffline
    {
      charge.isCharged = true
    }
    return charge
  }

  private func hostReport(
    of error: any Error, _ verdict: FailureVerdict, in context: QueryContext
  ) -> HostReport {
    if error is any UnsentError || verdict.limit != nil { return .nothing }
    switch verdict.failure {
    case .connectivity:
      if context.isKnownToBeOffline { return .nothing }
      let backoff = context.mutationBackoff
      return .unreachable(pause: backoff.base * 15 * (1 + backoff.random()))
    case .transient(let retryAfter?) where retryAfter > .zero:
      return .askedToWait(min(retryAfter, Self.longestRetryAfter))
    case .authentication: return .refusedCredentials
    case .transient, .conflict, .permanent: return .answered
    case .cancelled: return .nothing
    }
  }

  /// Whether a mutation has failed for unknown reasons as often and for as long as it may.
  private func isHopeless(_ verdict: FailureVerdict, _ earlier: EarlierAttempts) -> Bool {
    guard let limit = verdict.limit else { return false }
    return earlier.unknownFailures + 1 >= limit && earlier.unknownFor >= Self.unknownTime
  }

  /// What a failure counts for.
  private struct Charge {
    /// Whether it counts against `maxAttempts`.
    var isCharged: Bool
    /// Whether its reason is unknown.
    var isUnknown = false
    var hostReport = HostReport.nothing

    init(isCharged: Bool) { self.isCharged = isCharged }

    init(_ verdict: FailureVerdict) {
      self.isUnknown = verdict.limit != nil
      self.isCharged = verdict.failure.isCharged || self.isUnknown
      if verdict.failure == .conflict { self.hostReport = .answered }
    }
  }

  private func ruling(
    on error: any Error,
    _ verdict: FailureVerdict,
    _ lease: MutationLease,
    _ resolution: ConflictResolution<Arguments>,
    insteadOf arguments: Arguments,
    in context: QueryContext
  ) -> AttemptRuling {
    let failures = lease.entry.failures + 1
    switch resolution {
    case .giveUp: return self.dead(.conflict, error, verdict, lease)
    case .drop:
      var failed = self.failed(.drop, error, verdict)
      // Its edits are no longer shown, and the queries are fetched again.
      failed.invalidates = self.changedPaths(with: arguments, in: context)
      return AttemptRuling(
        outcome: .failed(failed), report: .superseded,
        error: MutationEndedError(id: lease.entry.id, reason: .superseded))
    case .retry where failures >= lease.entry.maxAttempts ?? .max:
      return self.dead(.exhausted, error, verdict, lease)
    case .retry(let arguments):
      let plan = self.plan(in: context)
      guard let data = try? plan.codec.encodeArguments(arguments, plan.options.coder) else {
        return self.dead(.conflict, error, verdict, lease)
      }
      // The first answer to a conflict is tried at once. A mutation that conflicts again and again
      // must not keep the server busy.
      let wait: Duration =
        failures == 1 ? .zero : context.mutationBackoff.delay(after: failures - 1)
      var ruling = self.pending(
        .retry(arguments: data, key: UUID.random().text, after: wait),
        wait == .zero ? nil : .backoff, error, verdict, lease)
      if case .failed(var failed) = ruling.outcome {
        // The row may have an earlier version; its new arguments have the current one.
        failed.version = plan.options.version
        failed.editedPaths = self.edits.placed(with: arguments).paths
        ruling.outcome = .failed(failed)
      }
      ruling.isTriedAgain = wait == .zero
      return ruling
    }
  }

  /// The paths of the queries that a mutation changes, as its options and its edits name them. Each query is
  /// under one of them, so that it is fetched once.
  func changedPaths(with arguments: Arguments, in context: QueryContext) -> [QueryPath] {
    let named = self.plan(in: context).options.invalidates?(arguments) ?? []
    return (named + self.edits.placed(with: arguments).placed.map(\.path)).outermost
  }

  private func failed(
    _ next: FailedAttempt.Next,
    _ error: any Error,
    _ verdict: FailureVerdict,
    _ charge: Charge? = nil
  ) -> FailedAttempt {
    let charge = charge ?? Charge(verdict)
    return FailedAttempt(
      error: RestoredError(error), code: FailureVerdict.code(of: error),
      outcome: verdict.failure.word, isCharged: charge.isCharged, isUnknown: charge.isUnknown,
      maybeApplied: verdict.maybeApplied, next: next,
      response: (error as? HTTPStatusError)?.body.map { Data($0.prefix(4 << 10)) },
      hostReport: charge.hostReport)
  }

  private func pending(
    _ next: FailedAttempt.Next,
    _ reason: MutationWaitReason?,
    _ error: any Error,
    _ verdict: FailureVerdict,
    _ lease: MutationLease,
    _ charge: Charge? = nil
  ) -> AttemptRuling {
    AttemptRuling(
      outcome: .failed(self.failed(next, error, verdict, charge)),
      report: .pending(verdict.failure, reason),
      error: MutationQueuedError(
        id: lease.entry.id, idempotencyKey: lease.entry.idempotencyKey, waitReason: reason,
        underlyingError: error))
  }

  private func dead(
    _ reason: MutationDeadReason,
    _ error: any Error,
    _ verdict: FailureVerdict,
    _ lease: MutationLease,
    _ charge: Charge? = nil
  ) -> AttemptRuling {
    AttemptRuling(
      outcome: .failed(self.failed(.dead(reason), error, verdict, charge)),
      report: .dead(reason), error: error)
  }
}
