/// How urgent a durable mutation is: which one goes first of those that may be sent now.
///
/// A lane keeps its order, whatever the priorities of its mutations: what is urgent waits for those
/// before it in its lane, and its priority counts once it is the first of it. Nothing is starved: of nine
/// mutations that are begun, one at least is the one that would be next without priorities.
public enum MutationPriority: Int, Hashable, Sendable, CaseIterable, Comparable {
  /// Behind the others, such as an upload of many photos.
  case low = -1
  /// Neither.
  case normal = 0
  /// Before the others, such as a message that somebody has just written.
  case high = 1

  /// The priority of a number on disk, which may be one of a later release.
  package init(nearest number: Int64) {
    self = Self(rawValue: Int(clamping: number.signum())) ?? .normal
  }

  public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}
