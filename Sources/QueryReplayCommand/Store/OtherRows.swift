import Query
import QueryReplay
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
    let rows = UnhandledRows(entries, handlers: session.replayer.handlers)
    self.kinds = rows.kinds.map { kind, count in
      Kind(name: kind.name, version: kind.version, count: count, application: session.owner)
    }
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
