import Foundation

/// A mutation that is live or dead, as an ``OutboxTable`` keeps it.
struct OutboxRow: Sendable {
  /// The public entry. Its `waitReason` and `nextAttemptAt` are left out: they are worked out when
  /// it is read.
  var entry: OutboxEntry
  /// What it waits for itself, apart from its lane and from others.
  var wait = OutboxWait.nothing
  /// The start of its age, by `OutboxTime.boottime`.
  var ageStart: Int
  /// The mutations it depends on that have not succeeded yet.
  var dependencies: [UUID]
  /// Tells the current lease from earlier ones; incremented by each.
  var token = 0
  /// The credentials of its last attempt, by `OutboxTable.credentialsEpoch`.
  var credentialsEpoch = 0
  /// The lease, if it is leased.
  var lease: MutationLease?
  /// Whether a caller has requested that the current attempt be cancelled.
  var isCancelRequested = false
  /// The class of the last failure, as `connectivity`.
  var lastFailure: String?
  /// When the last attempt ended, by the wall clock.
  var updatedAt: Date?

  /// Whether it will be sent as things are: it waits or runs.
  var isLive: Bool { self.entry.state != .dead }

  /// Whether those behind it in its lane must wait for it.
  var holdsLane: Bool { self.isLive || self.entry.onFailure == .halt }

  /// Whether it has waited longer than it may.
  func isTooOld(at time: OutboxTime) -> Bool {
    guard let maxAge = self.entry.maxAge else { return false }
    return time.boottime - self.ageStart > maxAge.clampedMicroseconds
  }
}

/// What a row waits for by itself.
enum OutboxWait: Hashable, Sendable {
  /// Nothing.
  case nothing
  /// A time, by `OutboxTime.boottime`. ``MutationWaitReason/offline`` is reported even when it is
  /// over.
  case time(MutationWaitReason, due: Int)
  /// Other credentials.
  case credentials
  /// An earlier mutation that publishes an alias.
  case alias(String)

  /// The wait for a time that comes after a delay.
  static func time(
    _ reason: MutationWaitReason, after delay: Duration, from time: OutboxTime
  ) -> OutboxWait {
    .time(reason, due: time.boottime + delay.clampedMicroseconds)
  }

  /// Whether the row no longer waits for this.
  func isOver(at time: OutboxTime) -> Bool {
    switch self {
    case .nothing: true
    case .time(_, let due): due <= time.boottime
    case .credentials, .alias: false
    }
  }

  /// How much longer it lasts; nil if it is over, or does not end with time.
  func remaining(at time: OutboxTime) -> Duration? {
    guard case .time(_, let due) = self, due > time.boottime else { return nil }
    return .microseconds(due - time.boottime)
  }
}

extension Duration {
  /// The whole microseconds, clamped so that a time can be added: no clock reaches a longer
  /// duration.
  package var clampedMicroseconds: Int {
    let limit = Int64.max / 4_000_000
    let (seconds, attoseconds) = self.components
    guard seconds.magnitude < limit else { return (seconds < 0 ? -1 : 1) * Int(limit) * 1_000_000 }
    return Int(seconds) * 1_000_000 + Int(attoseconds / 1_000_000_000_000)
  }
}
