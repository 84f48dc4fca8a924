/// The paths that something was done to.
enum AffectedPaths: Sendable {
  case beginning(with: QueryPath)
  case exactly(QueryPath)

  fileprivate func contains(_ path: QueryPath) -> Bool {
    switch self {
    case .beginning(with: let beginning): beginning.isPrefix(of: path)
    case .exactly(let affected): affected == path
    }
  }
}

/// What was done last to the paths of a client, so that work that began earlier learns of it.
struct RecentPaths: Sendable {
  /// How often something was done.
  private(set) var count = 0
  private var newest = [AffectedPaths]()
  private let limit: Int

  /// - Parameter limit: How many times are remembered. For older work every path counts as affected.
  init(limit: Int) { self.limit = limit }

  mutating func note(_ paths: AffectedPaths) {
    self.count += 1
    if self.newest.count == self.limit { self.newest.removeFirst() }
    self.newest.append(paths)
  }

  /// Whether something was done to a path, as far as is known, since it was done so often.
  func covers(_ path: QueryPath, since count: Int) -> Bool {
    let later = self.count - count
    return later > self.newest.count || self.newest.suffix(later).contains { $0.contains(path) }
  }
}
