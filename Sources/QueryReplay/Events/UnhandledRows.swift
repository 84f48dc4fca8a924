package import Query

/// Rows that none of some handlers can run, by name and version.
package struct UnhandledRows: Sendable {
  /// One kind of these rows.
  package struct Kind: Hashable, Sendable {
    package var name: String
    package var version: Int
  }

  /// How many there are of each kind, in the order of names and versions.
  package let kinds: [(kind: Kind, count: Int)]

  package init(_ entries: some Sequence<OutboxEntry>, handlers: Set<MutationHandler>) {
    self.init(entries.reduce(into: [:]) { $0[$1.kind, default: 0] += 1 }, handlers: handlers)
  }

  /// - Parameters:
  ///   - pending: How many there are of each kind.
  ///   - handlers: What can be run.
  package init(_ pending: [OutboxKind: Int], handlers: Set<MutationHandler>) {
    var counts = [Kind: Int]()
    for (kind, count) in pending where !handlers.contains(where: { $0.canRun(kind) }) {
      counts[Kind(name: kind.name, version: kind.version), default: 0] += count
    }
    self.kinds =
      counts
      .sorted { ($0.key.name, $0.key.version) < ($1.key.name, $1.key.version) }
      .map { (kind: $0.key, count: $0.value) }
  }
}
