import Query

/// What the end of an attempt says about its host.
enum HostAnswer: Hashable, Sendable {
  /// The host answered.
  case answered
  /// The host was not reached, or its answer was lost.
  case unreachable
  /// The attempt cancelled itself, although no caller cancelled it.
  case gaveUp
  /// Nothing.
  case nothing

  /// - Parameter report: How the attempt ended.
  init(_ report: AttemptReport) {
    switch report {
    case .pending(.connectivity, _): self = .unreachable
    case .pending(.cancelled, _): self = .gaveUp
    case .pending(_, .dependency), .dead(.dependency), .dead(.undecodable): self = .nothing
    case .cancelled, .leaseLost: self = .nothing
    case .succeeded, .superseded, .pending, .dead: self = .answered
    }
  }
}
