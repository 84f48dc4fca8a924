import FoundationEssentials

/// Which edits that a value includes are made once more, since the edit of a dead mutation, which is kept,
/// would cover them: what was entered later is shown over it.
///
/// That is so only where both change the same. What others have written since of something else would be
/// covered by an edit that is made once more. Values that can be compared tell: if it makes no difference
/// which of both edits comes first, they have nothing in common. Of other values the lane tells, in which
/// belongs what touches one thing.
struct EditsOverKept {
  /// How many of the newest edits are made once more, at most, and as many of each lane of a kept one: what
  /// was entered of other things does not bring back what a note was before it was deleted.
  static let limit = 64

  private let mark: ValueMark
  /// The kept edits that were made so far.
  private var kept = [LaidEdit]()
  /// The identifiers of those that are made once more, if they change the same.
  private let candidates: Set<UUID>

  /// - Parameters:
  ///   - edits: All edits of the store, in the order in which they are made.
  ///   - mark: The mark of the value beneath.
  init(_ edits: [LaidEdit], _ mark: ValueMark) {
    self.mark = mark
    let kept = edits.filter { $0.isKept && !mark.covers($0.row) }.map(\.row)
    self.candidates =
      kept.isEmpty
      ? [] : Self.newest(edits.map(\.row).filter { mark.covers($0) }, enteredAfter: kept)
  }

  /// The newest rows that were entered after kept ones: as many as are made once more.
  ///
  /// - Returns: Their identifiers.
  static func newest(_ rows: [OptimisticRow], enteredAfter kept: [OptimisticRow]) -> Set<UUID> {
    guard let first = kept.map(\.number).min() else { return [] }
    let lanes = Set(kept.compactMap(\.lane))
    var found = Set<UUID>()
    var (count, counts) = (0, [String: Int]())
    for row in rows.filter({ $0.number > first }).sorted(by: { $0.number > $1.number }) {
      if count < Self.limit { found.insert(row.id) }
      count += 1
      guard let lane = row.lane, lanes.contains(lane) else { continue }
      counts[lane, default: 0] += 1
      if counts[lane, default: 0] <= Self.limit { found.insert(row.id) }
    }
    return found
  }

  /// Whether an edit that the value includes is made once more. Called for each edit, in their order.
  mutating func isMade<Value>(
    _ edit: LaidEdit, over base: Value, _ apply: (LaidEdit, inout Value) -> Void
  ) -> Bool {
    if self.candidates.isEmpty { return false }
    guard self.mark.covers(edit.row) else {
      if edit.isKept { self.kept.append(edit) }
      return false
    }
    guard self.candidates.contains(edit.row.id) else { return false }
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
