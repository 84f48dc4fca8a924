import FoundationEssentials
import Query

/// The effects of a row of the history, as they are stored.
struct StoredEffects: Hashable, Sendable {
  let sequence: Int64
  let text: String
}

/// The effects of a success, as stored with it: a JSON array of paths in text form. A text that begins with
/// `@` and a sequence stands for an edit that the history has forgotten: it invalidates only the values
/// that lack it.
struct OutboxEffects {
  /// What to invalidate.
  var prefixes = [IdentityPrefix]()
  /// What to invalidate in the values that lack an edit.
  var edits = [StandingEdit]()

  /// Reads what was stored. Unreadable text has no effects.
  init(_ text: String) {
    for text in Self.texts(in: text) {
      guard text.hasPrefix("@") else {
        self.prefixes.append(IdentityPrefix(identity: QueryIdentity(canonicalText: text)))
        continue
      }
      if let edit = Self.edit(in: text) { self.edits.append(edit) }
    }
  }

  private static func edit(in text: String) -> StandingEdit? {
    guard text.hasPrefix("@") else { return nil }
    let parts = text.dropFirst().split(separator: " ", maxSplits: 1)
    guard parts.count == 2, let sequence = Int64(parts[0]) else { return nil }
    return StandingEdit(sequence: sequence, paths: EditedPaths(text: String(parts[1])))
  }

  private static func texts(in text: String) -> [String] {
    (try? JSONDecoder().decode([String].self, from: Data(text.utf8))) ?? []
  }

  private static func text(of texts: [String]) -> String? {
    if texts.isEmpty { return nil }
    return (try? JSONEncoder().encode(texts)).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Adds what removed rows leave to effects: their effects, and for each set of queries the newest edit.
  static func adding(_ rows: [Remains], to effects: String?) -> String? {
    let texts = ([effects] + rows.map(\.effects)).flatMap { $0.map(self.texts(in:)) ?? [] }
    let old = texts.compactMap(self.edit(in:)).map { ($0.paths.text, $0.sequence) }
    let new = rows.compactMap { row in row.editedPaths.map { ($0, row.sequence) } }
    let edits = Dictionary(old + new, uniquingKeysWith: max)
    var all = [String]()
    for text in texts where !text.hasPrefix("@") && !all.contains(text) { all.append(text) }
    all += edits.sorted { $0.key < $1.key }.map { "@\($0.value) \($0.key)" }
    return self.text(of: all)
  }

  /// What the cache must still be told of a row of the history that is removed.
  struct Remains {
    let sequence: Int64
    let editedPaths: String?
    let effects: String?
  }

  /// The text of the queries that a mutation has changed, and of those under the same paths.
  static func text(of paths: EditedPaths) -> String? {
    self.text(of: paths.identities.map(\.text))
  }

  /// The text of paths; nil if no stored entry can be under them.
  static func text(of paths: [QueryPath]) -> String? {
    let texts = paths.flatMap { (try? QueryIdentity.prefixes(of: $0)) ?? [] }.map(\.text)
    return self.text(of: texts)
  }
}
