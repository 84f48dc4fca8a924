/// How fast the machine was while a row was measured, beside the one that the goals were set on.
///
/// A goal that is a time says nothing of a machine that takes twice as long for everything, and a shared one
/// does so for minutes. So T is measured before and after each such row: where it is longer than on the machine
/// of the goals, the goal is multiplied by their ratio.
struct MachineSpeed: Sendable {
  /// T on the machine that the goals were set on, where it was between 600 and 800 ns.
  static let taskOfGoals = 800.0

  /// T, in nanoseconds.
  let task: Double

  /// How many times as long as on the machine of the goals a time may be. A faster machine has the same goals.
  var factor: Double { max(1, self.task / Self.taskOfGoals) }

  /// - Returns: The mean of T before and after the work.
  static func during(_ scale: Scale, _ work: () async throws -> Void) async throws -> Self {
    let before = try await Floor.task(scale)
    try await work()
    return Self(task: (before + (try await Floor.task(scale))) / 2)
  }
}

/// Whether a goal was reached.
enum Verdict: String, Encodable {
  case met
  /// On this machine it was missed, and by less than it is slower than the machine of the goals.
  case metForSpeed
  case missed

  /// What the table shows.
  var sign: String {
    switch self {
    case .met: "✓"
    case .metForSpeed: "≈"
    case .missed: "✗"
    }
  }
}
