import FoundationEssentials

/// The state outside a row that determines how it is shown.
package struct OutboxView: Sendable {
  /// What is paused, and since when.
  package var pauses: OutboxPauses
  /// The handlers that this process last claimed for; nil if it never has.
  package var handlers: Set<MutationHandler>?
  /// The hosts that are not well.
  package var hosts: [String: HostStanding]
  package var now: OutboxTime

  package init(
    pauses: OutboxPauses, handlers: Set<MutationHandler>?, hosts: [String: HostStanding] = [:],
    now: OutboxTime
  ) {
    self.hosts = hosts
    self.pauses = pauses
    self.handlers = handlers
    self.now = now
  }
}

extension OutboxEntry {
  /// Adds what enqueueing did not determine.
  ///
  /// - Parameters:
  ///   - standing: The row's standing.
  ///   - isHead: Whether it is the head of its lane.
  ///   - hasDependencies: Whether it depends on a mutation that has not succeeded.
  ///   - view: The state of the outbox.
  package mutating func show(
    _ standing: OutboxStanding, isHead: Bool, hasDependencies: Bool, in view: OutboxView
  ) {
    self.state = standing.state
    self.deadReason = standing.deadReason
    self.attempts = standing.attempts
    self.failures = standing.failures
    self.maybeApplied = standing.maybeApplied
    self.lastError = standing.lastError
    guard standing.state == .pending else { return }
    let remaining = standing.remaining(view.now) ?? 0
    if remaining > 0 { self.nextAttemptAt = view.now.wall + Double(remaining) / 1e6 }
    self.waitReason =
      if view.pauses.first(holding: self) != nil {
        .paused
      } else if !isHead {
        .predecessor
      } else if hasDependencies {
        .dependency
      } else {
        self.reason(standing, view)
      }
    let host = self.hold(standing, in: view)
    if let host, self.waitReason == host.waitReason, let remaining = host.remaining(view.now) {
      self.nextAttemptAt = view.now.wall + Double(remaining) / 1e6
    }
    self.isUnreached =
      [.backoff, .offline].contains(self.waitReason)
      && (host?.reason == .unreachable || self.waitReason == .offline
        || standing.lastFailure == MutationFailure.connectivity.word)
  }

  /// The standing of its host, if that is what it waits for itself: for nothing else, or longer than for
  /// its own time.
  private func hold(_ standing: OutboxStanding, in view: OutboxView) -> HostStanding? {
    guard standing.state == .pending, let host = view.hosts[self.effectiveHost],
      host.room(at: view.now) == .none
    else { return nil }
    if standing.wait.isOver(at: view.now) { return host }
    guard case .time(let reason, _) = standing.wait, reason != .offline,
      host.remaining(view.now) ?? .max > standing.remaining(view.now) ?? 0
    else { return nil }
    return host
  }

  private func reason(_ standing: OutboxStanding, _ view: OutboxView) -> MutationWaitReason? {
    switch standing.wait {
    case .alias: return .dependency
    case .credentials: return .authentication
    case .handler: return .handler
    case .time(.offline, _): return .offline
    case .time, .nothing: break
    }
    if let host = self.hold(standing, in: view) { return host.waitReason }
    if case .time(let reason, _) = standing.wait, !standing.wait.isOver(at: view.now) {
      return reason
    }
    guard let handlers = view.handlers else { return nil }
    return handlers.contains { $0.canRun(self) } ? nil : .handler
  }

  /// What keeps it from running: the first of the reasons that decide ``waitReason``.
  ///
  /// - Parameters:
  ///   - standing: The row's standing, which is shown in this entry.
  ///   - view: The state of the outbox.
  ///   - owner: Which process runs it, and whether that has ended.
  ///   - predecessor: The row that its lane waits for.
  ///   - dependency: The first row that it depends on.
  package func clause(
    _ standing: OutboxStanding, in view: OutboxView,
    owner: @autoclosure () throws -> (name: String, hasEnded: Bool),
    predecessor: @autoclosure () throws -> OutboxEntry?,
    dependency: @autoclosure () throws -> OutboxEntry?
  ) rethrows -> OutboxClause {
    switch self.state {
    case .leased:
      let (name, hasEnded) = try owner()
      if hasEnded {
        return .left(by: name, isCancelRequested: standing.isCancelRequested)
      }
      // 0: an earlier release has not stored it.
      let start = standing.lease?.startedAt ?? 0
      return .leased(
        by: name, since: start == 0 ? nil : Date(microsecondsSince1970: start),
        isCancelRequested: standing.isCancelRequested)
    case .dead: return .dead(self.deadReason ?? .rejected, self.lastError)
    case .pending: break
    }
    if let host = self.hold(standing, in: view), self.waitReason == host.waitReason {
      let remaining = host.remaining(view.now)
      return .host(
        self.effectiveHost, host.reason, failures: host.failures,
        until: remaining.map { view.now.wall + Double($0) / 1e6 })
    }
    switch self.waitReason {
    case nil: return .due(name: self.name, version: self.version)
    case .paused:
      let hold = view.pauses.first(holding: self)
      return .paused(hold?.pause ?? .everything, since: hold?.since ?? view.now.wall)
    case .predecessor:
      return try predecessor().map { .predecessor($0) }
        ?? .due(name: self.name, version: self.version)
    case .dependency:
      return try dependency().map { .dependency($0) } ?? .alias(standing.wait.alias ?? "")
    case .authentication: return .credentials(self.lastError)
    case .handler where standing.wait == .handler: return .unreadable(self.lastError)
    case .handler: return .handler(name: self.name, version: self.version)
    case .offline, .backoff, .retryAfter, .scheduled:
      let remaining = standing.remaining(view.now) ?? 0
      if remaining == 0 { return .network }
      return .time(
        self.waitReason ?? .backoff, remaining: .microseconds(remaining), self.lastError)
    }
  }
}
