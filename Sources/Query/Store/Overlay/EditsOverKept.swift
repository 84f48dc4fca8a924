/// Which edits that a value includes are made once more, since the edit of a dead mutation, which is kept,
/// would cover them: what was entered later is shown over it.
///
/// That is so only where both change the same. What others have written since of something else would be
/// covered by an edit that is made once more. Values that can be compared tell: if it makes no difference
/// which of both edits comes first, they have nothing in common. Of other values the lane tells, in which
/// belongs what touches one thing.
struct EditsOverKept {
  /// How many of the newest edits are made once more, at most.
  static let limit = 64

  private let mark: ValueMark
  /// The kept edits that were made so far.
  private var kept = [LaidEdit]()
  /// The number of the oldest edit that is made once more.
  private let oldest: Int

  /// - Parameters:
  ///   - edits: All edits of the store, in the order in which they are made.
  ///   - mark: The mark of the value beneath.
  init(_ edits: [LaidEdit], _ mark: ValueMark) {
    self.mark = mark
    guard let first = edits.first(where: { $0.isKept && !mark.covers($0.row) }) else {
      self.oldest = .max
      return
    }
    let later = edits.filter { $0.row.number > first.row.number && mark.covers($0.row) }
    self.oldest = later.map(\.row.number).sorted().suffix(Self.limit).first ?? .max
  }

  /// Whether an edit that the value includes is made once more. Called for each edit, in their order.
  mutating func isMade<Value>(
    _ edit: LaidEdit, over base: Value, _ apply: (LaidEdit, inout Value) -> Void
  ) -> Bool {
    if self.oldest == .max { return false }
    guard self.mark.covers(edit.row) else {
      if edit.isKept { self.kept.append(edit) }
      return false
    }
    if edit.row.number < self.oldest { return false }
    let earlier = self.kept.filter { $0.row.number < edit.row.number }
    if earlier.isEmpty { return false }
    var (under, over) = (base, base)
    apply(edit, &under)
    for kept in earlier {
      apply(kept, &under)
      apply(kept, &over)
    }
    apply(edit, &over)
    if let areEqual = Self.areEqual(under, over) { return !areEqual }
    return earlier.contains { $0.row.lane != nil && $0.row.lane == edit.row.lane }
  }

  /// Whether two values are equal; nil if they cannot be compared.
  private static func areEqual<Value>(_ one: Value, _ other: Value) -> Bool? {
    func compare<E: Equatable>(_: E.Type) -> Bool { one as? E == other as? E }
    return (Value.self as? any Equatable.Type).map { compare($0) }
  }
}
