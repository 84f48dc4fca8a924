/// What the end of an attempt says about the host that it was sent to.
public enum HostReport: Hashable, Sendable {
  /// Nothing.
  case nothing
  /// The host answered.
  case answered
  /// The host was not reached, or its answer was lost.
  ///
  /// - Parameter pause: How long the first pause would be, if it goes on like that. It doubles with each
  ///   further failure, up to ten times as long.
  case unreachable(pause: Duration)
  /// The host asked to be left alone for this time.
  case askedToWait(Duration)
  /// The host refused the credentials.
  case refusedCredentials
}

/// What keeps an outbox from sending to a host, and the rules by which that changes.
///
/// An outbox has one for each host that is not well, and none for the others. Each transition is a
/// pure function of the value.
package struct HostStanding: Hashable, Sendable {
  /// What is wrong.
  package enum Reason: String, Hashable, Sendable {
    /// It was not reached, or its answers were lost.
    case unreachable
    /// It asked to be left alone.
    case askedToWait
    /// It refused credentials.
    case refusedCredentials
  }

  package var reason: Reason
  /// How many attempts in a row have failed for that reason.
  package var failures: Int
  /// Until when nothing is sent. If it is over, one mutation is sent as a probe.
  package var wait: OutboxDelay
  /// The number of the mutation that was sent last as a probe.
  package var probe: Int64?

  package init(reason: Reason, failures: Int, wait: OutboxDelay, probe: Int64? = nil) {
    self.reason = reason
    self.failures = failures
    self.wait = wait
    self.probe = probe
  }

  /// How many attempts in a row have to fail before a host is left alone for a while.
  private static let patience = 3
  /// The wait of one that ends only with other credentials.
  private static let forGood = Duration.seconds(1 << 40)
  /// How long after its wait a host is forgotten to which nothing was sent.
  private static let memory = Duration.seconds(86_400)
}

// MARK: - Questions

extension HostStanding {
  /// How many mutations a replayer may send to a host.
  package enum Room: Hashable, Sendable {
    /// As many as to any.
    case any
    /// One, to see how it is.
    case probe
    /// None.
    case none
  }

  /// How many mutations a replayer may send.
  package func room(at now: OutboxTime) -> Room {
    if self.reason == .unreachable && self.failures < Self.patience { return .any }
    return self.wait.remaining(now) > 0 ? .none : .probe
  }

  /// How long a probe holds the others back. One that goes on for longer, such as a large upload, says nothing
  /// of its host meanwhile: another one is sent beside it.
  package static let probeTime = Duration.seconds(10)

  /// How long a probe still holds the others back; nil: no longer.
  ///
  /// - Parameters:
  ///   - lease: The probe's.
  ///   - now: The time.
  package static func left(ofProbe lease: OutboxStanding.Lease, at now: OutboxTime) -> Duration? {
    // One of another boot is about to be taken back.
    guard lease.bootID == now.bootID, lease.startedMonotonic > 0 else { return Self.probeTime }
    let passed = Int64(now.monotonic).clampedDifference(lease.startedMonotonic)
    let left = Self.probeTime.microseconds.clampedDifference(passed)
    return left > 0 ? .microseconds(left) : nil
  }

  /// Whether even a mutation whose caller waits for it is held back: the host has asked for that.
  package func holdsCallers(at now: OutboxTime) -> Bool {
    self.reason == .askedToWait && self.room(at: now) == .none
  }

  /// Whether the wait ends only when credentials change.
  package var isForGood: Bool { self.wait.length >= Self.forGood.microseconds }

  /// How many microseconds nothing is sent yet; nil: until something else changes.
  package func remaining(_ now: OutboxTime) -> Int64? {
    self.isForGood ? nil : self.wait.remaining(now)
  }

  /// Whether nothing was sent for so long that it says nothing any more.
  package func isForgotten(at now: OutboxTime) -> Bool {
    if self.isForGood { return false }
    let over =
      self.wait.bootID == now.bootID
      ? Int64(now.boottime).clampedDifference(self.wait.endBoottime)
      : now.wall.microsecondsSince1970.clampedDifference(self.wait.endAt)
    return over > Self.memory.microseconds
  }

  /// What a row waits for that could run otherwise.
  package var waitReason: MutationWaitReason {
    switch self.reason {
    case .unreachable: .backoff
    case .askedToWait: .retryAfter
    case .refusedCredentials: .authentication
    }
  }
}

extension HostSlots {
  /// Leaves a host no more than its standing allows.
  ///
  /// - Parameters:
  ///   - host: The host.
  ///   - standing: Its standing.
  ///   - isProbed: Whether a probe is under way.
  ///   - now: The time.
  package mutating func limit(
    _ host: String, by standing: HostStanding, isProbed: Bool, at now: OutboxTime
  ) {
    switch standing.room(at: now) {
    case .any: break
    case .probe: self[host] = isProbed ? 0 : min(self[host], 1)
    case .none: self[host] = 0
    }
  }
}

// MARK: - Changes

extension HostStanding {
  /// The standing of a host after an attempt.
  ///
  /// - Parameters:
  ///   - report: What the end of the attempt says.
  ///   - old: The standing before; nil: the host was well.
  ///   - areCredentialsOld: Whether credentials have changed since the attempt began.
  ///   - now: The time.
  /// - Returns: nil if the host is well.
  package static func after(
    _ report: HostReport, _ old: HostStanding?, areCredentialsOld: Bool, at now: OutboxTime
  ) -> HostStanding? {
    // An attempt that began before is over: nothing new follows from it, but that it asks for more.
    let isHeld = old.map { $0.room(at: now) == .none } ?? false
    switch report {
    case .nothing: return old
    case .answered: return isHeld && old?.reason == .askedToWait ? old : nil
    case .unreachable(let pause):
      if isHeld { return old }
      let failures = old?.reason == .unreachable ? (old?.failures ?? 0).clampedSuccessor : 1
      return HostStanding(
        reason: .unreachable, failures: failures,
        wait: OutboxDelay(Self.pause(pause, after: failures), from: now))
    case .askedToWait(let time):
      let wait = OutboxDelay(time, from: now)
      if let old, isHeld, old.isForGood || old.wait.remaining(now) >= wait.length { return old }
      let failures = old?.reason == .askedToWait ? (old?.failures ?? 0).clampedSuccessor : 1
      return HostStanding(reason: .askedToWait, failures: failures, wait: wait)
    case .refusedCredentials:
      if areCredentialsOld { return old }
      let failures = old?.reason == .refusedCredentials ? (old?.failures ?? 0).clampedSuccessor : 1
      return HostStanding(
        reason: .refusedCredentials, failures: failures,
        wait: OutboxDelay(Self.forGood, from: now))
    }
  }

  private static func pause(_ first: Duration, after failures: Int) -> Duration {
    guard failures >= Self.patience else { return .zero }
    return min(first * (1 << min(failures - Self.patience, 4)), first * 10)
  }

  /// What a release leaves of it.
  ///
  /// - Parameter reason: What is released.
  /// - Returns: nil: the host counts as well.
  package func released(_ reason: MutationWaitReason, at now: OutboxTime) -> HostStanding? {
    switch (reason, self.reason) {
    case (.offline, .unreachable): nil
    case (.authentication, .refusedCredentials): self.due(at: now)
    default: self
    }
  }

  /// What is left of it when a person retries a mutation: what the host has asked for holds.
  package func retried(at now: OutboxTime) -> HostStanding {
    if self.reason == .askedToWait { return self }
    var due = self.due(at: now)
    // The probe that it is for does not count, if it fails, too: a person who tries again and again would
    // keep everybody from the host for minutes.
    let isEarly = self.wait.remaining(now) > 0
    if isEarly, self.reason == .unreachable, self.failures > Self.patience { due.failures -= 1 }
    return due
  }

  private func due(at now: OutboxTime) -> HostStanding {
    var due = self
    if due.wait.remaining(now) > 0 { due.wait = OutboxDelay(.zero, from: now) }
    return due
  }
}

extension Int {
  fileprivate var clampedSuccessor: Int { self == .max ? self : self + 1 }
}
