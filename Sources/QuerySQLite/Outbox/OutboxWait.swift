import Foundation
import Query

/// A wait for a time, as stored on disk: within a boot it ends by `CLOCK_BOOTTIME`; across boots
/// the rest is measured by the wall clock, but is never more than the whole wait.
struct OutboxWait: Hashable, Sendable {
  /// When it ends by the wall clock, microseconds since 1970.
  var endAt: Int64
  /// When it ends by `CLOCK_BOOTTIME`, microseconds, in the boot of ``bootID``.
  var endBoottime: Int64
  var bootID: String
  /// How long it is, in microseconds.
  var length: Int64

  init(endAt: Int64, endBoottime: Int64, bootID: String, length: Int64) {
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
  init(_ delay: Duration, from now: OutboxTime) {
    let length = max(delay.microseconds, 0)
    self.init(
      endAt: now.wall.microsecondsSince1970.clampedSum(length),
      endBoottime: Int64(now.boottime).clampedSum(length), bootID: now.bootID, length: length)
  }

  /// How many microseconds are left, from 0 to ``length``.
  func remaining(_ now: OutboxTime) -> Int64 {
    let left =
      self.bootID == now.bootID
      ? self.endBoottime.clampedDifference(Int64(now.boottime))
      : self.endAt.clampedDifference(now.wall.microsecondsSince1970)
    return min(max(left, 0), max(self.length, 0))
  }

  /// When it ends by `CLOCK_BOOTTIME` of the boot of a time, at least 1; 0 if it has ended.
  func dueBoottime(_ now: OutboxTime) -> Int64 {
    let remaining = self.remaining(now)
    return remaining == 0 ? 0 : max(Int64(now.boottime).clampedSum(remaining), 1)
  }

  /// The same wait in terms of the boot of a time.
  func converted(to now: OutboxTime) -> OutboxWait {
    let remaining = self.remaining(now)
    return OutboxWait(
      endAt: now.wall.microsecondsSince1970.clampedSum(remaining),
      endBoottime: Int64(now.boottime).clampedSum(remaining), bootID: now.bootID,
      length: self.length)
  }
}

/// When the age of a mutation begins to count.
struct OutboxAge: Hashable, Sendable {
  /// By the wall clock, microseconds since 1970.
  var startAt: Int64
  /// By `CLOCK_BOOTTIME`, microseconds, in the boot of ``bootID``.
  var startBoottime: Int64
  var bootID: String
  /// Whether ``startAt`` can be relied on.
  var isSynchronised: Bool

  init(startAt: Int64, startBoottime: Int64, bootID: String, isSynchronised: Bool) {
    self.startAt = startAt
    self.startBoottime = startBoottime
    self.bootID = bootID
    self.isSynchronised = isSynchronised
  }

  /// Begins to count.
  init(from now: OutboxTime) {
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
  func elapsed(_ now: OutboxTime, synchronisedAt: Int64?) -> Int64 {
    let boottime = Int64(now.boottime)
    if self.bootID == now.bootID { return max(boottime.clampedDifference(self.startBoottime), 0) }
    let wall = now.wall.microsecondsSince1970
    guard now.isSynchronised, self.isSynchronised, wall >= synchronisedAt ?? wall else {
      return boottime
    }
    return max(wall.clampedDifference(self.startAt), boottime)
  }
}

extension Int64 {
  /// The sum, or the limit that it exceeds: a damaged row must not stop the process.
  package func clampedSum(_ other: Int64) -> Int64 {
    let (sum, isOver) = self.addingReportingOverflow(other)
    return isOver ? (other > 0 ? .max : .min) : sum
  }

  /// The difference, or the limit that it exceeds.
  package func clampedDifference(_ other: Int64) -> Int64 {
    let (difference, isOver) = self.subtractingReportingOverflow(other)
    return isOver ? (other < 0 ? .max : .min) : difference
  }
}

extension Duration {
  /// Whole microseconds, rounded up; clamped to the range.
  var microseconds: Int64 {
    let (seconds, attoseconds) = self.components
    let (whole, isOver) = seconds.multipliedReportingOverflow(by: 1_000_000)
    if isOver { return seconds > 0 ? .max : .min }
    let part = attoseconds / 1_000_000_000_000
    let rest = attoseconds % 1_000_000_000_000 > 0 ? Int64(1) : 0
    return whole.clampedSum(part + rest)
  }
}
