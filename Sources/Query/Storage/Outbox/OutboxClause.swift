package import FoundationEssentials

/// The clause that keeps a mutation from running: `MutationOutbox.why(_:)` puts it into words.
package enum OutboxClause: Sendable {
  /// Nothing of this is sent, since this time.
  case paused(OutboxPause, since: Date)
  /// An earlier row of its lane must end first.
  case predecessor(OutboxEntry)
  /// A row that it depends on must succeed first.
  case dependency(OutboxEntry)
  /// An earlier row must publish an alias.
  case alias(String)
  /// The server wants other credentials, or this program has none: so its last attempt failed.
  case credentials(RestoredError?)
  /// Its host is left alone until this time; nil: until credentials change.
  case host(String, HostStanding.Reason, failures: Int, until: Date?)
  /// There is no network.
  case network
  /// A time has to come, since the last attempt failed, or because it is wanted so.
  case time(MutationWaitReason, remaining: Duration, RestoredError?)
  /// No program has registered its name in this version.
  case handler(name: String, version: Int)
  /// No program has been able to read its arguments.
  case unreadable(RestoredError?)
  /// Nothing but a program that sends its name in this version.
  case due(name: String, version: Int)
  /// A process has run it since this time, and may have been asked to end it.
  case leased(by: String, since: Date?, isCancelRequested: Bool)
  /// A process ran it and has ended, and may have been asked to end it.
  case left(by: String, isCancelRequested: Bool)
  /// It is dead.
  case dead(MutationDeadReason, RestoredError?)
  /// It ended.
  case ended(RecordedMutation.Outcome)
}

extension OutboxClause: CustomStringConvertible {
  package var description: String {
    switch self {
    case .paused(let pause, let date): "\(pause) is paused since \(date.words)."
    case .predecessor(let entry):
      "It waits for \(entry.words), which is before it in its lane and \(entry.stateWords)."
    case .dependency(let entry):
      "It depends on \(entry.words), which \(entry.stateWords)."
    case .alias(let alias): "It waits for an earlier mutation that publishes the alias \(alias)."
    case .credentials(let error):
      "Its credentials were refused or are missing\(error.map { " (\($0))" } ?? ""):"
        + " it waits for other credentials, or a retry."
    case .host(let host, let reason, let failures, let date):
      "\(Self.words(for: host)) \(Self.words(for: reason, failures, date))"
    case .network: "It waits for the network."
    case .time(.scheduled, let remaining, _): "It is to be sent in \(remaining.secondWords)."
    case .time(let reason, let remaining, let error):
      "It is tried again in \(remaining.secondWords)\(reason.ofTimeWords)."
        + (error.map { " The last attempt failed: \($0)" } ?? "")
    case .handler(let name, let version):
      "This process has registered no handler for “\(name)” in version \(version)."
    case .unreadable(let error):
      "Its arguments could not be read\(error.map { " (\($0))" } ?? ""): it waits for a program that can."
    case .due(let name, let version):
      "It is due, and waits for a replayer that sends “\(name)” in version \(version)."
    case .leased(let owner, let date, let isCancelRequested):
      "It runs in \(owner)\(date.map { " since \($0.words)" } ?? "")"
        + (isCancelRequested ? ", which was asked to cancel it." : ".")
    case .left(let owner, let isCancelRequested):
      "It ran in \(owner), which has ended: whoever sends next "
        + (isCancelRequested ? "ends it, as was asked." : "takes it over.")
    case .dead(let reason, let error):
      "It is dead (\(reason.rawValue)), until it is retried or discarded."
        + (error.map { " The last attempt failed: \($0)" } ?? "")
    case .ended(let outcome): "It has ended: \(outcome.rawValue)."
    }
  }
}

extension OutboxClause {
  private static func words(for host: String) -> String {
    host.hasPrefix("name:") ? "The server of “\(host.dropFirst(5))”" : "The host \(host)"
  }

  private static func words(
    for reason: HostStanding.Reason, _ failures: Int, _ date: Date?
  ) -> String {
    let until = date.map(\.words) ?? "later"
    return switch reason {
    case .askedToWait: "asked to wait until \(until)."
    case .unreachable:
      "did not answer, \(failures) times in a row: one mutation is sent to it at \(until)."
    case .refusedCredentials:
      "refused the credentials of another mutation: it waits for other credentials, or a retry."
    }
  }
}

extension OutboxEntry {
  /// Which one it is.
  fileprivate var words: String { "“\(self.name)” (\(self.id))" }

  /// What it does instead of ending.
  fileprivate var stateWords: String {
    switch self.state {
    case .leased: "runs"
    case .dead: "is dead (\(self.deadReason?.rawValue ?? "unknown"))"
    case .pending: self.waitReason.map { "waits (\($0.rawValue))" } ?? "is due"
    }
  }
}

extension MutationWaitReason {
  /// Why there is a time to wait for.
  fileprivate var ofTimeWords: String {
    switch self {
    case .retryAfter: ", as the server asked"
    case .offline: ", or when the network is back"
    default: ", after a failure (\(self.rawValue))"
    }
  }
}

extension Date {
  /// In UTC: a log is read elsewhere.
  fileprivate var words: String { self.formatted(.iso8601) }
}

extension Duration {
  /// Whole seconds, rounded up: never 0 for a time still to come.
  fileprivate var secondWords: String {
    "\(self.microseconds.clampedSum(999_999) / 1_000_000) s"
  }
}
