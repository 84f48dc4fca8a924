import CSQLite
import Query

extension OutboxClock {
  /// The kernel's clocks, and what the kernel says of the wall clock.
  static let systemWithSync = OutboxClock {
    var time = OutboxClock.system.now()
    time.isSynchronised = csqlite_clock_is_synchronised() != 0
    return time
  }
}
