import Query
import ToolSupport

/// Live rows that this program has no handler for, by name and version.
struct OtherRows {
  /// One kind of these rows.
  struct Kind: Encodable, Hashable {
    var name: String
    var version: Int
    var count: Int
    /// The application that owns them.
    var application: String
  }

  private(set) var kinds = [Kind]()

  /// - Parameter kinds: The kinds, as another program has found them.
  init(_ kinds: [Kind]) { self.kinds = kinds }

  /// - Parameters:
  ///   - entries: Live rows.
  ///   - session: The store, and what can be sent.
  init(_ entries: [OutboxEntry], _ session: ReplaySession) {
    var counts = [Kind: Int]()
    for entry in entries where !session.canSend(entry) {
      let kind = Kind(
        name: entry.name, version: entry.version, count: 0, application: session.owner)
      counts[kind, default: 0] += 1
    }
    self.kinds = counts.map { kind, count in
      var kind = kind
      kind.count = count
      return kind
    }
    self.kinds.sort { ($0.name, $0.version) < ($1.name, $1.version) }
  }

  /// A line for each kind.
  var lines: [String] {
    self.kinds.map { kind in
      let noun = kind.count == 1 ? "mutation" : "mutations"
      return
        "\(kind.count) \(noun) “\(SafeText.escape(kind.name))” (version \(kind.version)) left to the "
        + "application \(SafeText.escape(kind.application))"
    }
  }
}
