/// By what a WAL is known to follow a database: the row of `log_link`, as a page has it.
///
/// SQLite takes any valid WAL beside a file for that file's own, and a WAL does not name its
/// database. So the first commit of each WAL writes a new random value, and beside it the one that
/// the file has from the WAL before: see ``SQLiteConnection/linkLog()``.
struct LogLink {
  let previous: [UInt8]
  let current: [UInt8]

  /// Reads the page of the table.
  ///
  /// - Returns: nil if it is not that page, or is damaged.
  init?(_ page: ImagePage, _ tree: SalvageLayout.Tree) {
    guard let found = TreePage(page), found.kind == .tableLeaf, found.cells.count == 1,
      let cell = found.cells.first, cell.overflow == nil,
      let record = StoredValue.record(Array(page.bytes[cell.local])), tree.fits(record),
      case .blob(let previous) = record[1], case .blob(let current) = record[2]
    else { return nil }
    (self.previous, self.current) = (previous, current)
  }

  /// Whether two values are not the same one. A difference of a few bits is damage.
  static func areUnlike(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    one.count != other.count || zip(one, other).map { ($0 ^ $1).nonzeroBitCount }.reduce(0, +) >= 8
  }
}

extension DatabaseImage {
  /// Whether the WAL does not follow the file: it belongs to another one, or to another state of
  /// this one, as after a backup was copied back. SQLite would not notice.
  func hasForeignLog(_ layout: SalvageLayout) -> Bool {
    guard let tree = layout.trees["log_link"], !self.log.isIdle else { return false }
    return Set(tree.roots).contains { root in
      guard let own = self.pageOfFile(root).flatMap({ LogLink($0, tree) }) else { return false }
      let frames = self.log.frames.prefix(self.log.committedCount)
      // Behind a damaged frame the first one is not known.
      let indices = frames.prefix { $0.state == .whole }.indices.filter { frames[$0].page == root }
      let links = indices.compactMap { LogLink(self.page(ofFrame: $0), tree) }
      guard let first = links.first, links.count == indices.count else { return false }
      // A checkpoint may have copied a part of the WAL.
      return ([first.previous] + links.map(\.current)).allSatisfy {
        LogLink.areUnlike($0, own.current)
      }
    }
  }
}
