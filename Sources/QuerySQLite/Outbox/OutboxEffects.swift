import FoundationEssentials
import Query

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

  /// Adds the edits of forgotten successes to effects: for each set of queries the newest edit.
  static func adding(
    _ rows: [(sequence: Int64, text: String)], to effects: String?
  ) -> String? {
    var texts = effects.map(self.texts(in:)) ?? []
    var edits = [String: Int64]()
    for edit in texts.compactMap(self.edit(in:)) { edits[edit.paths.text] = edit.sequence }
    for row in rows { edits[row.text] = max(row.sequence, edits[row.text] ?? 0) }
    texts.removeAll { $0.hasPrefix("@") }
    texts += edits.sorted { $0.key < $1.key }.map { "@\($0.value) \($0.key)" }
    return self.text(of: texts)
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
