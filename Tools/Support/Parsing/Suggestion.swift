/// Finds what a person may have meant.
package enum Suggestion {
  /// The candidate nearest to a word; nil if no candidate is near.
  ///
  /// - Parameters:
  ///   - word: The word that the user typed.
  ///   - candidates: The valid words. The first of several equally near ones is taken.
  /// - Complexity: O(word · all candidates), at most 64 characters of the word.
  package static func nearest(to word: String, of candidates: [String]) -> String? {
    let typed = Array(word.lowercased().prefix(64))
    var best: (candidate: String, distance: Int)?
    for candidate in candidates {
      let wanted = Array(candidate.lowercased())
      let distance = Self.distance(typed, wanted)
      let isNear = distance <= max(1, min(typed.count, wanted.count) / 3)
      let isBeginning = typed.count >= 2 && wanted.starts(with: typed)
      guard isNear || isBeginning else { continue }
      if best.map({ distance < $0.distance }) ?? true { best = (candidate, distance) }
    }
    return best?.candidate
  }

  /// How many characters must be added, removed, replaced or swapped with their neighbour.
  static func distance(_ first: [Character], _ second: [Character]) -> Int {
    var older = [Int]()
    var old = Array(0...second.count)
    for (row, left) in first.enumerated() {
      var new = [row + 1]
      for (column, right) in second.enumerated() {
        var cost = min(
          old[column + 1] + 1, new[column] + 1, old[column] + (left == right ? 0 : 1))
        if row > 0, column > 0, left == second[column - 1], first[row - 1] == right {
          cost = min(cost, older[column - 1] + 1)
        }
        new.append(cost)
      }
      (older, old) = (old, new)
    }
    return old[second.count]
  }
}
