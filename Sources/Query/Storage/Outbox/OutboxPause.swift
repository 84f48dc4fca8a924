package import FoundationEssentials

/// What a pause holds back: nothing of it is sent, by any process of the partition, until it is resumed.
///
/// ```swift
/// try await storage.outbox.pause(.host("api.example.org"))
/// ```
/// What runs goes on, and enqueueing goes on. Pauses are on disk, and do not know of one another: what two
/// of them hold waits for the end of both.
public enum OutboxPause: Hashable, Sendable {
  /// All mutations.
  case everything
  /// The mutations of a lane.
  case lane(String)
  /// The mutations that were persisted as this name, in any version.
  case name(String)
  /// The mutations that are sent to a host, as ``OutboxEntry/effectiveHost`` has it.
  case host(String)

  /// What is on disk of one that does not hold everything: which part, and its value.
  package var words: (part: String, value: String)? {
    switch self {
    case .everything: nil
    case .lane(let lane): ("lane", lane.canonicallyComposed)
    case .name(let name): ("name", name.canonicallyComposed)
    case .host(let host): ("host", host.canonicallyComposed)
    }
  }

  /// The pause of what is on disk; nil if its word is one of a later release.
  package init?(part: String, value: String) {
    switch part {
    case "lane": self = .lane(value)
    case "name": self = .name(value)
    case "host": self = .host(value)
    default: return nil
    }
  }
}

extension OutboxPause: CustomStringConvertible {
  public var description: String {
    switch self {
    case .everything: "The outbox"
    case .lane(let lane): "The lane “\(lane)”"
    case .name(let name): "The name “\(name)”"
    case .host(let host): "The host \(host)"
    }
  }
}

/// The pauses of an outbox, and since when each is.
package typealias OutboxPauses = [OutboxPause: Date]

extension [OutboxPause: Date] {
  /// The pause that holds a row; nil if none does.
  package func first(holding entry: OutboxEntry) -> (pause: OutboxPause, since: Date)? {
    self.first(lane: entry.lane, name: entry.name, host: entry.effectiveHost)
  }

  /// Whether rows of a lane and a name are held, whatever their hosts.
  package func hold(lane: String?, name: String) -> Bool {
    if self.isEmpty { return false }
    return self[.everything] != nil || self[.name(name)] != nil
      || lane.map { self[.lane($0)] != nil } ?? false
  }

  /// The pause that holds rows of a lane, a name and a host; nil if none does.
  package func first(
    lane: String?, name: String, host: String
  ) -> (pause: OutboxPause, since: Date)? {
    if self.isEmpty { return nil }
    // One after the other: of a loop over an array of them the compiler does not always make the same code.
    func find(_ pause: OutboxPause) -> (pause: OutboxPause, since: Date)? {
      self[pause].map { (pause, $0) }
    }
    return find(.everything) ?? lane.flatMap { find(.lane($0)) } ?? find(.name(name))
      ?? find(.host(host))
  }
}
