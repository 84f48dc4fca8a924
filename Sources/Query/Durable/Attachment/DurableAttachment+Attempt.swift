import FoundationEssentials

extension DurableAttachment {
  /// What came of an attempt.
  struct Attempt: Sendable {
    /// The caller's result; nil: look up what became of the mutation.
    let result: Result<MutationValue<Value>, any Error>?
  }

  /// Makes the attempt of a lease, and settles it.
  func attempt(
    _ lease: MutationLease,
    _ admission: AttemptAdmission,
    in context: QueryContext,
    with continuation: Continuation,
    _ ground: Ground
  ) async -> Attempt {
    let aliases = AttemptAliases(ground.outbox)
    var context = context
    context.admittedAttempt = nil
    context.retriedMutation = nil
    context.mutationDependencies = []
    context.mutationAttempt = MutationAttempt(lease: lease, aliases: aliases)
    let declaration =
      admission.declaration as? DurableDeclaration<Arguments, Value> ?? self.declaration
    context.mutationPlan = declaration.plan
    guard let arguments = self.arguments(of: lease, admission, in: context) else {
      _ = await self.giveUp(lease, admission, ground.outbox)
      return Attempt(result: nil)
    }
    context[QueryContext.MutationArgumentsKey<Arguments>.self] = arguments
    self.show(lease, with: arguments, of: admission)
    defer { lease.endProgress() }
    lease.whenProgressed { [weak self] progress in self?.show(progress, of: lease.entry.id) }
    let call = self.call(
      declaration, lease, admission.batch, arguments, in: context, with: continuation)
    guard let result = await self.run(declaration, call, lease, in: context) else {
      admission.report(.leaseLost)
      return Attempt(result: nil)
    }
    switch result {
    case .success(let value):
      let success = self.success(of: value.returnValue, arguments, aliases, declaration.plan)
      return await self.settle(
        lease, admission, success, .success(value), arguments, in: context, ground)
    case .failure(let error as MutationAppliedError):
      QueryWarning.mutationAppliedWithoutResult(name: self.plan.name, error: error).report()
      let success = self.success(
        of: nil, arguments, aliases, declaration.plan, warning: RestoredError(error))
      return await self.settle(
        lease, admission, success, .failure(error), arguments, in: context, ground)
    case .failure(let error):
      return await self.settle(lease, admission, error, arguments, in: context, ground)
    }
  }

  /// Those of the call are taken if they are the row's. A conflict or a person may have changed the row, and
  /// another one may have superseded it: those are read from the row.
  private func arguments(
    of lease: MutationLease, _ admission: AttemptAdmission, in context: QueryContext
  ) -> Arguments? {
    let key = QueryContext.MutationArgumentsKey<Arguments>.self
    if admission.hasArguments(of: lease), let arguments = context[key] { return arguments }
    return try? self.plan(in: context).arguments(
      lease.entry.arguments, version: lease.entry.version, coder: lease.entry.coder)
  }

  /// A call of a mutation, alone or with others.
  private struct Call {
    let isBatched: Bool
    let body: @Sendable (AttemptCall<MutationValue<Value>>) async throws -> MutationValue<Value>
  }

  private func call(
    _ declaration: DurableDeclaration<Arguments, Value>,
    _ lease: MutationLease,
    _ place: BatchPlace?,
    _ arguments: Arguments,
    in context: QueryContext,
    with continuation: Continuation
  ) -> Call {
    let chain = declaration.chain
    guard let place, let batch = place.batch as? BatchCall<Arguments, Value>,
      let attempt = context.mutationAttempt
    else { return Call(isBatched: false) { _ in try await chain(context, continuation) } }
    let item = BatchedMutation(arguments: arguments, attempt: attempt)
    return Call(isBatched: true) { call in
      let answer = await batch.join(place.place, item, in: context) {
        lease.revocation == .cancelRequested
      }
      switch answer {
      case .result(let result): return MutationValue(returnValue: try result.get())
      case .alone:
        call.limit(to: declaration.plan.options.attemptTimeout)
        return try await chain(context, continuation)
      }
    }
  }

  /// Calls the mutation, and cancels it if the lease is revoked or its time is over.
  ///
  /// - Returns: Nil if the lease is lost.
  private func run(
    _ declaration: DurableDeclaration<Arguments, Value>,
    _ body: Call,
    _ lease: MutationLease,
    in context: QueryContext
  ) async -> Result<MutationValue<Value>, any Error>? {
    // Given up, it is due again at once, for the process that has the row then.
    if !lease.mayBegin {
      lease.giveUp()
      return .failure(CancellationError())
    }
    // The time of a call with others is that call's.
    let limit = body.isBatched ? nil : declaration.plan.options.attemptTimeout
    let call = AttemptCall<MutationValue<Value>>(in: context)
    let ending = await AttemptScope.$isInside.withValue(true) {
      await call.run(lease, limit: limit) { try await body.body(call) }
    }
    if lease.revocation == .lost { return nil }
    return ending.result(named: self.plan.name, tooLong: declaration.plan.timeLimitError)
  }

  private func success(
    of value: Value?,
    _ arguments: Arguments,
    _ aliases: AttemptAliases,
    _ plan: TypedMutationPlan<Arguments, Value>,
    warning: RestoredError? = nil
  ) -> SuccessfulAttempt {
    var success = SuccessfulAttempt(
      result: nil, warning: warning, aliases: aliases.all,
      invalidates: (plan.options.invalidates?(arguments) ?? []).outermost)
    guard let value else { return success }
    do {
      success.result = try plan.codec.encodeValue(value, plan.options.coder)
    } catch {
      success.warning = RestoredError(error)
      QueryWarning.mutationResultNotKept(name: self.plan.name, error: error).report()
    }
    return success
  }
}

// MARK: - Showing

extension DurableAttachment {
  /// Shows how much an attempt has sent.
  private func show(_ progress: MutationProgress, of id: UUID) {
    guard let store = self.store else { return }
    store.withLock {
      guard store._state.note(progress, of: id) else { return }
      store.emit(.stateChanged, in: store._context)
    }
  }
}

// MARK: - Settling

extension DurableAttachment {
  private func settle(
    _ lease: MutationLease,
    _ admission: AttemptAdmission,
    _ success: SuccessfulAttempt,
    _ result: Result<MutationValue<Value>, any Error>,
    _ arguments: Arguments,
    in context: QueryContext,
    _ ground: Ground
  ) async -> Attempt {
    // What is shown of a lane is in the order in which it was acknowledged.
    if let place = admission.batch { await place.batch.turn(of: place.place) }
    // The task shows the mutation that it was made for, and not what has superseded that.
    let isShownByItsTask =
      !admission.isOld && !admission.isReplayers && lease.entry.id == admission.id
    if isShownByItsTask { self.ending.withLock { _ = $0.insert(lease.entry.id) } }
    let isWritten = await ground.outbox.settlePatiently(lease, .succeeded(success))
    if isShownByItsTask { self.ending.withLock { _ = $0.remove(lease.entry.id) } }
    guard isWritten else {
      admission.report(.leaseLost)
      return Attempt(result: nil)
    }
    self.close(lease.entry.id, isOver: true)
    // A replayer may make thousands of attempts a second, which the readings show together.
    if !admission.isReplayers, !self.edits.isEmpty, let client = context.queryClient,
      let standing = try? ground.outbox.standing(of: lease.entry.id)
    {
      client.optimistic.showEnd(standing)
    }
    self.invalidateStores(under: success.invalidates, in: context)
    admission.report(.succeeded)
    return Attempt(result: result)
  }

  /// The storage has marked its entries; living stores are the client's.
  private func invalidateStores(under paths: [QueryPath], in context: QueryContext) {
    guard !paths.isEmpty, let client = context.queryClient else { return }
    for path in paths { client.invalidateStores(matching: path) }
  }

  private func settle(
    _ lease: MutationLease,
    _ admission: AttemptAdmission,
    _ error: any Error,
    _ arguments: Arguments,
    in context: QueryContext,
    _ ground: Ground
  ) async -> Attempt {
    var ruling = await self.ruling(on: error, lease, arguments, in: context)
    let isSettled = await ground.outbox.settlePatiently(lease, ruling.outcome)
    guard isSettled else {
      admission.report(.leaseLost)
      return Attempt(result: nil)
    }
    if case .failed(let failed) = ruling.outcome {
      self.invalidateStores(under: failed.invalidates, in: context)
      switch try? ground.outbox.standing(of: lease.entry.id) {
      case .ended(let record)? where record.isCancelled:
        // Another process has asked for it while the attempt failed: that counts, whatever the failure
        // would have led to.
        ruling = .cancelled(lease.entry.id, maybeApplied: failed.maybeApplied)
      case .dead(let entry)? where error is MutationAliasError:
        // Only the outbox knows whether a live row is left to publish the alias.
        ruling.report = .dead(entry.deadReason ?? .dependency)
        ruling.error = error
      default: break
      }
    }
    self.showEnd(of: lease.entry.id, ruling, arguments, admission, in: context)
    switch ruling.report {
    case .pending, .leftOut: break
    case .dead, .leaseLost: self.close(lease.entry.id, isOver: false)
    case .succeeded, .superseded, .cancelled: self.close(lease.entry.id, isOver: true)
    }
    admission.report(ruling.report)
    return Attempt(
      result: ruling.isTriedAgain && !admission.isReplayers ? nil : .failure(ruling.error))
  }

  /// Shows that a mutation goes no further, and lets the queries be fetched again that it has changed: their
  /// server has others than those that were shown, or may have carried out what is shown no longer.
  private func showEnd(
    of id: UUID, _ ruling: AttemptRuling, _ arguments: Arguments, _ admission: AttemptAdmission,
    in context: QueryContext
  ) {
    guard let client = context.queryClient else { return }
    var isStale = false
    let standing: OptimisticContext.Standing?
    switch (ruling.report, ruling.outcome) {
    case (.dead(let reason), _): (standing, isStale) = (.dead(reason), true)
    case (.cancelled, .cancelled(let maybeApplied)): (standing, isStale) = (nil, maybeApplied)
    case (.cancelled, _), (.superseded, _): standing = nil
    case (.pending, _), (.leftOut, _), (.leaseLost, _), (.succeeded, _): return
    }
    // A replayer may make thousands of attempts a second, which the readings show together.
    if !admission.isReplayers { client.optimistic.show(id, as: standing) }
    guard isStale else { return }
    for path in self.changedPaths(with: arguments, in: context) {
      client.invalidate(matching: path)
    }
  }

  /// Settles a lease whose arguments this program cannot decode: another one may.
  func giveUp(
    _ lease: MutationLease,
    _ admission: AttemptAdmission,
    _ outbox: any MutationOutbox
  ) async -> AttemptReport {
    _ = admission.takeLease()
    let entry = lease.entry
    var reason = RestoredError(typeName: "", text: "")
    do {
      let plan = (admission.declaration as? DurableDeclaration<Arguments, Value>)?.plan ?? self.plan
      _ = try plan.arguments(entry.arguments, version: entry.version, coder: entry.coder)
    } catch {
      reason = RestoredError(error)
    }
    let failed = FailedAttempt(
      error: reason, outcome: "undecodable", isCharged: false, maybeApplied: false,
      next: .waitForHandler)
    let isSettled = await outbox.settlePatiently(lease, .failed(failed))
    let failure = MutationFailure.permanent(reason: "\(reason)")
    var report: AttemptReport = isSettled ? .pending(failure, .handler) : .leaseLost
    if isSettled, case .ended(let record)? = try? outbox.standing(of: entry.id), record.isCancelled
    {
      report = .cancelled
    }
    admission.report(report)
    return report
  }
}

extension QueryWarning {
  /// A durable mutation was carried out, and its answer was of no use.
  public static func mutationAppliedWithoutResult(
    name: String,
    error: MutationAppliedError
  ) -> QueryWarning {
    "\(name) counts as succeeded, without a result. \(error)"
  }

  /// Two durable mutations of one path are declared in two ways.
  public static func otherDeclaration(_ error: MutationDeclarationError) -> QueryWarning {
    "\(error) The second one has a store of its own now, which the client does not keep."
  }

  /// A durable mutation went on although its attempt was cancelled, and was left behind: the attempt
  /// ended without it, and what it does later is dropped.
  public static func mutationLeftBehind(name: String) -> QueryWarning {
    """
    \(name) goes on although its attempt was cancelled. The attempt has ended without it, and the \
    mutation may be sent again meanwhile, with the same key: let the handler end when its task is \
    cancelled.
    """
  }

  /// The result of a durable mutation could not be coded.
  public static func mutationResultNotKept(name: String, error: any Error) -> QueryWarning {
    "\(name) succeeded, and its result could not be coded and is not kept. \(RestoredError(error))"
  }
}
