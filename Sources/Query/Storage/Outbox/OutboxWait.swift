/// What a pending row waits for by itself, apart from its lane and from other mutations.
package enum OutboxWait: Hashable, Sendable {
  /// Nothing.
  case nothing
  /// A time; nil: one that has come. ``MutationWaitReason/offline`` is reported even then.
  case time(MutationWaitReason, OutboxDelay?)
  /// Other credentials.
  case credentials
  /// An earlier mutation that publishes an alias.
  case alias(String)
  /// A program that can read its arguments.
  case handler

  /// Puts a wait together from its parts, as a row on disk stores them.
  ///
  /// - Parameters:
  ///   - reason: What it is reported as; nil: a word that is not known counts as a backoff.
  ///   - delay: The time that it lasts.
  ///   - alias: The alias that must be published.
  package init(
    _ reason: MutationWaitReason?, _ delay: OutboxDelay? = nil, alias: String? = nil
  ) {
    if let alias {
      self = .alias(alias)
    } else if reason == .authentication {
      self = .credentials
    } else if reason == .handler, delay == nil {
      self = .handler
    } else if reason != nil || delay != nil {
      self = .time(reason ?? .backoff, delay)
    } else {
      self = .nothing
    }
  }

  /// What a row on disk stores as its reason.
  package var reason: MutationWaitReason? {
    switch self {
    case .time(let reason, _): reason
    case .credentials: .authentication
    case .handler: .handler
    case .nothing, .alias: nil
    }
  }

  /// The time that it lasts, if it ends with time.
  package var delay: OutboxDelay? { if case .time(_, let delay) = self { delay } else { nil } }

  /// The alias that must be published.
  package var alias: String? { if case .alias(let alias) = self { alias } else { nil } }

  /// Whether the row no longer waits for this.
  package func isOver(at now: OutboxTime) -> Bool {
    switch self {
    case .nothing: true
    case .time(_, let delay): delay.map { $0.remaining(now) == 0 } ?? true
    case .credentials, .alias, .handler: false
    }
  }
}
