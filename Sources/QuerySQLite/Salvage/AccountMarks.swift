import Query

/// What tells the accounts of one outbox from those of any other: each has a random number, which it
/// keeps for good.
///
/// SQLite takes whatever valid log stands beside a file for that file's own, and so would show what
/// another outbox has. Nothing in a log says whose it is, but nearly each transaction writes the page of
/// the accounts.
struct AccountMarks {
  private let marks: [Int64: Int64]

  /// Reads the page of the accounts.
  ///
  /// - Returns: nil where it is none, or more than one page has them.
  init?(_ page: ImagePage, _ tree: SalvageLayout.Tree) {
    guard let found = TreePage(page), found.kind == .tableLeaf else { return nil }
    var marks = [Int64: Int64]()
    for cell in found.cells {
      guard cell.overflow == nil,
        let record = StoredValue.record(Array(page.bytes[cell.local])), tree.fits(record),
        case .integer(let mark)? = record.last
      else { return nil }
      marks[cell.rowID] = mark
    }
    self.marks = marks
  }

  /// Whether no account of one is the same account in the other. A few bits that differ are damage.
  func areOfAnotherOutbox(than other: AccountMarks) -> Bool {
    let pairs = self.marks.compactMap { id, mark in other.marks[id].map { (mark, $0) } }
    return !pairs.isEmpty && pairs.allSatisfy { ($0 ^ $1).nonzeroBitCount >= 8 }
  }
}

extension DatabaseImage {
  /// Whether the log belongs to another outbox, which SQLite would not notice.
  func hasForeignLog(_ layout: SalvageLayout) -> Bool {
    guard let tree = layout.trees["partitions"], !self.log.isIdle else { return false }
    return Set(tree.roots).contains { root in
      let frame = self.log.frames.prefix(self.log.committedCount).firstIndex {
        $0.page == root && $0.state == .whole
      }
      guard let frame, let own = self.pageOfFile(root).flatMap({ AccountMarks($0, tree) }),
        let found = AccountMarks(self.page(ofFrame: frame), tree)
      else { return false }
      return found.areOfAnotherOutbox(than: own)
    }
  }
}
