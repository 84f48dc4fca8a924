/// When the age of a mutation begins to count.
package struct OutboxAge: Hashable, Sendable {
  /// By the wall clock, microseconds since 1970.
  package var startAt: Int64
  /// By `CLOCK_BOOTTIME`, microseconds, in the boot of ``bootID``.
  package var startBoottime: Int64
  package var bootID: String
  /// Whether ``startAt`` can be relied on.
  package var isSynchronised: Bool

  package init(startAt: Int64, startBoottime: Int64, bootID: String, isSynchronised: Bool) {
    self.startAt = startAt
    self.startBoottime = startBoottime
    self.bootID = bootID
    self.isSynchronised = isSynchronised
  }

  /// Begins to count.
  package init(from now: OutboxTime) {
    self.init(
      startAt: now.wall.microsecondsSince1970, startBoottime: Int64(now.boottime),
      bootID: now.bootID, isSynchronised: now.isSynchronised)
  }

  /// How many microseconds have certainly passed. Across boots that is the uptime of this boot, and
  /// the wall clock's difference if it is synchronised now and was then, and did not go back: a
  /// wrong clock must not make anything old.
  ///
  /// - Parameters:
  ///   - now: The time.
  ///   - synchronisedAt: The latest wall time that was known to be right.
  package func elapsed(_ now: OutboxTime, synchronisedAt: Int64?) -> Int64 {
    let boottime = Int64(now.boottime)
    if self.bootID == now.bootID { return max(boottime.clampedDifference(self.startBoottime), 0) }
    let wall = now.wall.microsecondsSince1970
    guard now.isSynchronised, self.isSynchronised, wall >= synchronisedAt ?? wall else {
      return boottime
    }
    return max(wall.clampedDifference(self.startAt), boottime)
  }
}
