import CProbes
import FoundationEssentials
import Query

/// One attempt of a run, from the lease until its end is committed.
struct LeasedAttempt: Sendable {
  let lease: MutationLease
  let parts: ReplayParts
  /// How it is sent.
  var sending = Sending.alone

  enum Sending: Sendable {
    case alone
    /// With others, in one call.
    case together(BatchPlace)
    /// Not now: it was leased behind another one of its lane, and no handler sends them together any more.
    case notNow
  }

  /// Runs it, unless the task is cancelled already.
  func run() async -> AttemptReport {
    // Whatever becomes of this one, the others must not wait for it.
    defer { if case .together(let place) = self.sending { place.batch.leave(place.place) } }
    if case .notNow = self.sending { return await self.giveBack(.now) }
    if Task.isCancelled || self.lease.isGivenUp { return await self.giveBack(.now) }
    guard let runner = self.parts.registry().runner(for: self.lease.entry) else {
      return await self.giveBack(.wait(.handler, self.parts.configuration.pollInterval))
    }
    let entry = self.lease.entry
    probe_attempt_begin(entry.id.probeNumber, Int64(entry.attempts))
    self.parts.events.send(.attemptStarted(entry.id, number: entry.attempts))
    let waited = max(
      .zero, Duration.seconds(self.parts.clock.date().timeIntervalSince(entry.createdAt)))
    let events = self.parts.events
    self.lease.whenProgressed { events.send(.progress(entry.id, $0)) }
    let start = self.parts.clock.now()
    let report =
      if case .together(let place) = self.sending {
        await runner.run(self.lease, in: place)
      } else {
        await runner.run(self.lease)
      }
    probe_attempt_end(entry.id.probeNumber)
    self.parts.events.send(
      .attemptEnded(
        entry.id, host: entry.host ?? entry.name, duration: self.parts.clock.now() - start,
        waited: waited))
    return report
  }

  /// Ends the lease of an attempt that was not begun.
  private func giveBack(_ next: FailedAttempt.Next) async -> AttemptReport {
    let failure = FailedAttempt(
      error: RestoredError(CancellationError()), outcome: "cancelled", isCharged: false,
      maybeApplied: false, next: next)
    let parts = self.parts
    let isSettled = await parts.outbox.settlePatiently(self.lease, .failed(failure)) { failures in
      let time = parts.clock.now() + parts.recovery(after: failures)
      // A task of its own, since this one may be cancelled.
      await Task { try? await parts.clock.sleep(time) }.value
    }
    // The leases of a storage that is closed end with it.
    return isSettled ? .pending(.cancelled, nil) : .leaseLost
  }
}

/// The leases that one call sends: consecutive rows of one lane.
struct LeasedBatch: Sendable {
  private(set) var leases: [MutationLease]

  /// Divides the leases of a claim.
  static func batches(of leases: [MutationLease]) -> [LeasedBatch] {
    var batches = [LeasedBatch]()
    for lease in leases {
      if lease.entry.lane != nil, let last = batches.last?.leases.last,
        last.entry.lane == lease.entry.lane
      {
        batches[batches.count - 1].leases.append(lease)
      } else {
        batches.append(LeasedBatch(leases: [lease]))
      }
    }
    return batches
  }

  /// The attempts, of which all but the first are given back if there is no call for several.
  func attempts(_ parts: ReplayParts) -> [LeasedAttempt] {
    guard self.leases.count > 1 else {
      return self.leases.map { LeasedAttempt(lease: $0, parts: parts) }
    }
    let runner = parts.registry().runner(for: self.leases[0].entry)
    let batch = runner?.makeBatch(of: self.leases.count)
    return self.leases.enumerated().map { place, lease in
      var attempt = LeasedAttempt(lease: lease, parts: parts)
      if let batch {
        attempt.sending = .together(BatchPlace(batch, place))
      } else if place > 0 {
        attempt.sending = .notNow
      }
      return attempt
    }
  }
}
