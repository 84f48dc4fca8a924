import FoundationEssentials

/// A mutation that is live or dead, as an ``OutboxTable`` keeps it.
struct OutboxRow: Sendable {
  /// What enqueueing determined. The rest is added when it is read.
  var entry: OutboxEntry
  /// Its state, wait and lease.
  var standing: OutboxStanding
  /// How old it is.
  var age: OutboxAge
  /// The mutations it depends on that have not succeeded yet.
  var dependencies: [UUID]
  /// The copies of its files.
  var bodyFile: String?
  /// The lease, if it is leased.
  var lease: MutationLease?

  /// Whether it will be sent as things are: it waits or runs.
  var isLive: Bool { self.standing.state != .dead }

  /// Whether those behind it in its lane must wait for it.
  var holdsLane: Bool { self.standing.holdsLane(self.entry.lane, self.entry.onFailure) }

  /// Whether it waits, and has done so for longer than it may.
  func isOverdue(at time: OutboxTime) -> Bool {
    self.entry.maxAge != nil && self.standing.state == .pending && self.isTooOld(at: time)
  }

  /// Whether it is older than it may be.
  func isTooOld(at time: OutboxTime) -> Bool {
    guard let maxAge = self.entry.maxAge else { return false }
    return self.age.elapsed(time, synchronisedAt: nil) > maxAge.microseconds
  }
}
