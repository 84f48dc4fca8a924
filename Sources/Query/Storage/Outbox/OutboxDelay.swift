/// A wait for a time, as it is stored on disk: within a boot it ends by `CLOCK_BOOTTIME`; across boots
/// the rest is measured by the wall clock, but is never more than the whole wait.
package struct OutboxDelay: Hashable, Sendable {
  /// When it ends by the wall clock, microseconds since 1970.
  package var endAt: Int64
  /// When it ends by `CLOCK_BOOTTIME`, microseconds, in the boot of ``bootID``.
  package var endBoottime: Int64
  package var bootID: String
  /// How long it is, in microseconds.
  package var length: Int64

  package init(endAt: Int64, endBoottime: Int64, bootID: String, length: Int64) {
    self.endAt = endAt
    self.endBoottime = endBoottime
    self.bootID = bootID
    self.length = length
  }

  /// Begins a wait.
  ///
  /// - Parameters:
  ///   - delay: How long it is; a negative one counts as zero.
  ///   - now: The time.
  package init(_ delay: Duration, from now: OutboxTime) {
    let length = max(delay.microseconds, 0)
    self.init(
      endAt: now.wall.microsecondsSince1970.clampedSum(length),
      endBoottime: Int64(now.boottime).clampedSum(length), bootID: now.bootID, length: length)
  }

  /// How many microseconds are left, from 0 to ``length``.
  package func remaining(_ now: OutboxTime) -> Int64 {
    let left =
      self.bootID == now.bootID
      ? self.endBoottime.clampedDifference(Int64(now.boottime))
      : self.endAt.clampedDifference(now.wall.microsecondsSince1970)
    return min(max(left, 0), max(self.length, 0))
  }

  /// A wait that ended at a time of the wall clock, or now if that is still to come.
  ///
  /// - Parameters:
  ///   - date: Microseconds since 1970.
  ///   - now: The time.
  package init(endedAt date: Int64, _ now: OutboxTime) {
    let wall = now.wall.microsecondsSince1970
    let age = max(wall.clampedDifference(date), 0)
    self.init(
      endAt: min(date, wall), endBoottime: max(Int64(now.boottime).clampedDifference(age), 1),
      bootID: now.bootID, length: 0)
  }

  /// When it ends, or has ended, by `CLOCK_BOOTTIME` of the boot of a time; at least 1.
  package func dueBoottime(_ now: OutboxTime) -> Int64 {
    let (remaining, boottime) = (self.remaining(now), Int64(now.boottime))
    if remaining > 0 { return max(boottime.clampedSum(remaining), 1) }
    return max(self.bootID == now.bootID ? min(self.endBoottime, boottime) : boottime, 1)
  }

  /// The same wait in terms of the boot of a time.
  package func converted(to now: OutboxTime) -> OutboxDelay {
    let remaining = self.remaining(now)
    return OutboxDelay(
      endAt: now.wall.microsecondsSince1970.clampedSum(remaining),
      endBoottime: Int64(now.boottime).clampedSum(remaining), bootID: now.bootID,
      length: self.length)
  }
}
