import CSQLite
package import Query

extension OutboxClock {
  /// The kernel's clocks, and whether the kernel says that the wall clock is synchronised. That is
  /// read once a second: a clock is seldom set, and an outbox reads the time often.
  package static let systemWithSync = OutboxClock {
    var time = OutboxClock.system.now()
    let monotonic = time.monotonic
    time.isSynchronised = Self.synchronisation.withLock { last in
      if monotonic >= last.askedAt + 1_000_000 {
        last = (monotonic, csqlite_clock_is_synchronised() != 0)
      }
      return last.isSynchronised
    }
    return time
  }

  /// Microseconds by `CLOCK_MONOTONIC`, and the kernel's answer.
  private static let synchronisation = Locked((askedAt: -1_000_000, isSynchronised: false))
}
