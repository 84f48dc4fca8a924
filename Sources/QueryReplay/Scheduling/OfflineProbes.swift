import FoundationEssentials
import Query

/// Which hosts are tried although the system says that there is no network: it may be wrong, and a
/// server of the same site needs no way to everywhere.
///
/// Each host takes one mutation at a time: at once the first time, and again after pauses that grow as
/// long as it is not reached. A host that answers has no pause. Times are those of a ``ReplayClock``.
struct OfflineProbes: Sendable {
  private struct Pause {
    var failures: Int
    var end: Duration
  }

  private var pauses = [String: Pause]()
  private var running = [UUID: String]()

  /// How many hosts are told apart; of more than that, the one whose pause ends first is forgotten.
  private static let maximumHosts = 1_024

  /// How long a host is left alone after so many probes in vain, 1 or more.
  static func pause(after failures: Int) -> Duration {
    min(.seconds(30) * (1 << min(failures - 1, 8)), .seconds(300))
  }

  /// Whether a mutation is sent as a probe.
  func isProbe(_ id: UUID) -> Bool { self.running[id] != nil }

  /// When the next pause ends; nil if there is none.
  func next(after now: Duration) -> Duration? {
    self.pauses.values.map(\.end).filter { $0 > now }.min()
  }

  /// Leaves one slot for each host, and none during its pause.
  func restrict(_ slots: inout HostSlots, at now: Duration) {
    slots.others = min(slots.others, 1)
    for host in Array(slots.slots.keys) { slots[host] = min(slots[host], 1) }
    for (host, pause) in self.pauses where pause.end > now { slots[host] = 0 }
    for host in self.running.values { slots[host] = 0 }
  }

  /// Notes what was leased.
  mutating func begin(_ entries: [OutboxEntry]) {
    for entry in entries { self.running[entry.id] = entry.effectiveHost }
  }

  /// Notes the end of an attempt, if it was a probe.
  mutating func end(_ id: UUID, _ answer: HostAnswer, at now: Duration) {
    guard let host = self.running.removeValue(forKey: id) else { return }
    if answer == .answered { self.pauses[host] = nil }
    guard answer == .unreachable else { return }
    let failures = (self.pauses[host]?.failures ?? 0) + 1
    if self.pauses[host] == nil, self.pauses.count >= Self.maximumHosts {
      let first = self.pauses.min { $0.value.end < $1.value.end }
      self.pauses[first?.key ?? ""] = nil
    }
    self.pauses[host] = Pause(failures: failures, end: now + Self.pause(after: failures))
  }
}
