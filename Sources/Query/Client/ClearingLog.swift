/// The paths whose stores were cleared on purpose.
enum ClearedPaths: Sendable {
  case beginning(with: QueryPath)
  case exactly(QueryPath)

  fileprivate func contains(_ path: QueryPath) -> Bool {
    switch self {
    case .beginning(with: let beginning): beginning.isPrefix(of: path)
    case .exactly(let cleared): cleared == path
    }
  }
}

/// The newest clearings of a cache: a store that was given up for want of use does not come back to a path that
/// was cleared since.
struct ClearingLog: Sendable {
  /// How many are remembered. A store that was given up longer ago counts as cleared.
  private static let limit = 64

  /// How many there were.
  private(set) var count = 0
  private var newest = [ClearedPaths]()

  mutating func note(_ paths: ClearedPaths) {
    self.count += 1
    if self.newest.count == Self.limit { self.newest.removeFirst() }
    self.newest.append(paths)
  }

  /// Whether a path was cleared, as far as is known, since there were so many clearings.
  func covers(_ path: QueryPath, since count: Int) -> Bool {
    let later = self.count - count
    return later > self.newest.count || self.newest.suffix(later).contains { $0.contains(path) }
  }
}
