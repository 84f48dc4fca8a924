/// The queries that a durable mutation changes, as its edits named them when it was enqueued. A storage
/// keeps them beside the row, so that a program without the edits knows which values they are for.
public struct EditedPaths: Hashable, Sendable {
  /// A line for each: the canonical text of the path, and `*` if all queries under it are changed.
  public let text: String

  /// Takes what was stored.
  ///
  /// - Parameter text: The ``text`` of another one.
  public init(text: String) { self.text = text }

  /// - Parameter edits: The paths, and whether all queries under each are changed.
  /// - Returns: Nil if no stored entry can be at any of them.
  init?(_ edits: [(path: QueryPath, isPrefix: Bool)]) {
    var lines = [String]()
    for edit in edits {
      for identity in (try? QueryIdentity.prefixes(of: edit.path)) ?? [] {
        let line = edit.isPrefix ? identity.text + "*" : identity.text
        if !lines.contains(line) { lines.append(line) }
      }
    }
    if lines.isEmpty { return nil }
    self.text = lines.joined(separator: "\n")
  }

  private var lines: [(identity: QueryIdentity, isPrefix: Bool)] {
    self.text.split(separator: "\n").map { line in
      let isPrefix = line.hasSuffix("*")
      return (QueryIdentity(canonicalText: String(isPrefix ? line.dropLast() : line)), isPrefix)
    }
  }

  /// The texts of the paths of all these queries.
  package var identities: [QueryIdentity] { self.lines.map(\.identity) }

  /// Prefixes that match the identities of all these queries; they may match others under the same paths.
  package var prefixes: [IdentityPrefix] {
    self.identities.map { IdentityPrefix(identity: $0) }
  }

  /// Whether the mutation changes the query with an identity. A hand-made identity is recognised only if
  /// its text is that of a path.
  package func covers(_ identity: QueryIdentity) -> Bool {
    self.lines.contains { line, isPrefix in
      if isPrefix { return IdentityPrefix(identity: line).matches(identity) }
      if line == identity { return true }
      // A query that was persisted under a name: its path without the names of types, then the name.
      let beginning =
        line.text.hasPrefix("[{}")
        ? String(line.text.dropLast()) : QueryIdentity.beginning(ofNamedUnder: line)
      return identity.text.utf8.starts(with: (beginning + #",{"as":"#).utf8)
    }
  }

  /// Whether the mutation changes the query at a path.
  func covers(_ path: QueryPath) -> Bool {
    guard let identity = try? QueryIdentity(path: path) else { return false }
    return self.covers(identity)
  }
}
