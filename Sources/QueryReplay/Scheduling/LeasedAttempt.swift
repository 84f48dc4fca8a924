import FoundationEssentials
import Query

/// One attempt of a run, from the lease until its end is committed.
struct LeasedAttempt: Sendable {
  let lease: MutationLease
  let parts: ReplayParts

  /// Runs it, unless the task is cancelled already.
  func run() async -> AttemptReport {
    if Task.isCancelled { return await self.giveBack(.now) }
    guard let runner = self.parts.registry().runner(for: self.lease.entry) else {
      return await self.giveBack(.wait(.handler, self.parts.configuration.pollInterval))
    }
    let entry = self.lease.entry
    self.parts.events.send(.attemptStarted(entry.id, number: entry.attempts))
    let waited = max(.zero, Duration.seconds(Date().timeIntervalSince(entry.createdAt)))
    let events = self.parts.events
    self.lease.whenProgressed { events.send(.progress(entry.id, $0)) }
    let start = self.parts.clock.now()
    let report = await runner.run(self.lease)
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
    var failures = 0
    while true {
      do {
        let isSettled = try await self.parts.outbox.settle(self.lease, .failed(failure))
        return isSettled ? .pending(.cancelled, nil) : .leaseLost
      } catch StorageError.Code.misuse {
        // The storage is closed, and its leases end with it.
        return .leaseLost
      } catch {
        failures += 1
        let time = self.parts.clock.now() + self.parts.recovery(after: failures)
        // A task of its own, since this one may be cancelled.
        await Task { try? await self.parts.clock.sleep(time) }.value
      }
    }
  }
}
