import Query

/// Distinguishes the accounts of one outbox from those of any other: each has a random number,
/// which it keeps for good.
///
/// SQLite takes any valid WAL beside a file for that file's own, and so would show the content of
/// another outbox. A WAL does not say to which database it belongs, but nearly each transaction
/// writes the page of the accounts.
struct AccountMarks {
  private let marks: [Int64: Int64]

  /// Reads a page of the accounts' table.
  ///
  /// - Returns: nil if it is not one, or more than one page has accounts.
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

  /// Whether no account is the same in both. A difference of a few bits is damage.
  func areOfAnotherOutbox(than other: AccountMarks) -> Bool {
    let pairs = self.marks.compactMap { id, mark in other.marks[id].map { (mark, $0) } }
    return !pairs.isEmpty && pairs.allSatisfy { ($0 ^ $1).nonzeroBitCount >= 8 }
  }
}

extension DatabaseImage {
  /// Whether the WAL belongs to another outbox, which SQLite would not notice.
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
