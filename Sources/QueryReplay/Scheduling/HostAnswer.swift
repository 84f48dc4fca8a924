import Query

/// What the end of an attempt says about its host.
enum HostAnswer: Hashable, Sendable {
  /// The host answered.
  case answered
  /// The host was not reached, or its answer was lost.
  case unreachable
  /// Nothing.
  case nothing

  /// - Parameter report: How the attempt ended.
  init(_ report: AttemptReport) {
    switch report {
    case .pending(.connectivity, _): self = .unreachable
    case .pending(_, .dependency), .pending(_, .handler), .dead(.dependency), .dead(.undecodable):
      self = .nothing
    case .pending(.cancelled, _), .leftOut, .cancelled, .leaseLost: self = .nothing
    case .succeeded, .superseded, .pending, .dead: self = .answered
    }
  }
}
