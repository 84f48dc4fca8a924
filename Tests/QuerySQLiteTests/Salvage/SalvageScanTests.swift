import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// Persistence §8: what a damaged page has lost is looked for in its earlier versions.
@Suite struct SalvageScanTests {
  /// Of a closed outbox, whose log has the pages that were copied last.
  @Test func aRowThatIsDamagedInAPageIsFoundInAnEarlierVersionOfIt() async throws {
    let outbox = try await DamagedOutbox(isKilled: false)
    let layout = try SalvageLayout(DatabaseKind.mutations.migrations)
    let whole = DatabaseImage(file: outbox.file, log: outbox.log)
    func rows(_ image: DatabaseImage) -> Set<Int64> {
      Set((SalvageScan(image, layout).rows["outbox"] ?? []).map(\.rowID))
    }
    let all = rows(whole)
    #expect(all.count == outbox.texts.count)
    var pages = 0
    for (number, cell) in Self.leaves(of: whole, layout) {
      guard let page = whole.current(number), page.order == 0 else { continue }
      let bytes = page.bytes[page.offset..<page.offset + page.size]
      let isKept = whole.older(number).contains { older in
        older.bytes[older.offset..<older.offset + older.size].elementsEqual(bytes)
      }
      guard isKept else { continue }
      pages += 1
      var file = outbox.file
      // The record has no columns any more.
      file[cell.local.lowerBound] = 1
      // With rows that were deleted since, of which the history tells that they have ended.
      let found = rows(DatabaseImage(file: file, log: outbox.log))
      #expect(found.isSuperset(of: all), "page \(number)")
      #expect(rows(DatabaseImage(file: file, log: [])).count == all.count - 1, "page \(number)")
    }
    #expect(pages > 0)
  }

  /// The trees of a vacuumed file begin elsewhere than those of a new one.
  @Test func theTreesOfAVacuumedFileBeginWhereItsSchemaSays() async throws {
    let outbox = try OutboxScratch()
    try await outbox.add()
    try await outbox.storage.close()
    let connection = try SQLiteConnection(path: outbox.path)
    try connection.pragma("VACUUM")
    try connection.close()
    let layout = try SalvageLayout(DatabaseKind.mutations.migrations)
    let scan = SalvageScan(try DatabaseImage(path: outbox.path), layout)
    let names = layout.trees.values.filter { !$0.columns.isEmpty }.map(\.name)
    #expect(scan.wholeTrees == Set(names))
  }

  /// The header does not lead to the free pages, and what looks like a list of them names a page of
  /// a tree, or one behind the end.
  @Test func whatNamesAPageThatCannotBeFreeIsNoListOfFreePages() async throws {
    let outbox = try await DamagedOutbox(isKilled: false)
    let layout = try SalvageLayout(DatabaseKind.mutations.migrations)
    let whole = DatabaseImage(file: outbox.file, log: [])
    func rows(_ image: DatabaseImage) -> Set<Int64> {
      Set((SalvageScan(image, layout).rows["outbox"] ?? []).map(\.rowID))
    }
    let root = try #require(layout.trees["outbox"]?.roots.first)
    // Not the first one, by which the root is recognised.
    let leaves = Self.leaves(of: whole, layout)
    let leaf = try #require(leaves.max { $0.cell.rowID < $1.cell.rowID }).number
    #expect(leaf != root)
    let place = (leaf - 1) * whole.pageSize..<leaf * whole.pageSize
    let moved = whole.pageCount + 1
    for other in [root, moved + 2] {
      let list = [0, 2, other, moved].flatMap { number in
        withUnsafeBytes(of: UInt32(number).bigEndian) { Array($0) }
      }
      // The leaf moves to the end, where no tree leads to it, and the list comes behind it.
      var file = outbox.file + outbox.file[place] + list
      file += [UInt8](repeating: 0, count: whole.pageSize - list.count)
      file.replaceSubrange(place, with: repeatElement(0xa5, count: whole.pageSize))
      // The number of free pages.
      file.replaceSubrange(36..<40, with: [0, 0, 0xff, 0xff])
      let found = rows(DatabaseImage(file: file, log: []))
      #expect(found.isSuperset(of: rows(whole)), "\(other)")
    }
  }

  /// A repair by hand may have removed tables, and made others in their place.
  @Test func theRestOfALargeRowMayBeInAnyPageButTheFirst() throws {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/mutations.sqlite"
    try DatabaseFiles().makeFile(path)
    let connection = try SQLiteConnection(path: path)
    // The first table is in the second page, and leaves it free.
    try connection.pragma("CREATE TABLE gone (x)")
    try connection.pragma("CREATE TABLE kept (x BLOB)")
    try connection.pragma("DROP TABLE gone")
    let value = [UInt8](repeating: 7, count: 6_000)
    try connection.write { try connection.execute("INSERT INTO kept VALUES (?)", Data(value)) }
    try connection.close()
    let image = try DatabaseImage(path: path)
    let page = try #require(image.current(3))
    let cell = try #require(TreePage(page)?.cells.first)
    let record = try #require(image.record(of: cell, in: page))
    #expect(record.pages == [2])
    #expect(StoredValue.record(record.bytes) == [.blob(value)])
  }

  /// They are listed from the header on; without that the list is recognised by what it names.
  @Test func whatWasRemovedStaysSoThoughTheHeaderDoesNotLeadToTheFreePages() async throws {
    let outbox = try OutboxScratch()
    for number in 0..<60 {
      try await outbox.add("mutation \(number) " + String(repeating: "text", count: 200))
    }
    try await outbox.storage.close()
    let connection = try SQLiteConnection(path: outbox.path)
    // Pages that are freed together keep their rows.
    try connection.pragma("PRAGMA secure_delete = 0")
    try connection.pragma("CREATE TEMP TABLE kept AS SELECT * FROM outbox WHERE number <= 3")
    try connection.write {
      try connection.execute("DELETE FROM outbox")
      try connection.execute("INSERT INTO outbox SELECT * FROM kept")
    }
    try connection.close()
    let file = Array(try Data(contentsOf: URL(filePath: outbox.path)))
    let layout = try SalvageLayout(DatabaseKind.mutations.migrations)
    let image = DatabaseImage(file: file, log: [])
    func rows(_ file: [UInt8]) -> Set<Int64> {
      let image = DatabaseImage(file: file, log: [])
      return Set((SalvageScan(image, layout).rows["outbox"] ?? []).map(\.rowID))
    }
    #expect(rows(file) == [1, 2, 3])
    // In a file that is whole nothing is looked for.
    let leaf = try #require(Self.leaves(of: image, layout).first { $0.cell.rowID == 1 })
    var damaged = file
    damaged[leaf.cell.local.lowerBound] = 1
    #expect(rows(damaged) == [2, 3])
    // The first page of the list, and how many pages there are.
    for place in [32..<36, 36..<40] {
      var lost = damaged
      #expect(lost[place].contains { $0 != 0 }, "there are free pages")
      lost.replaceSubrange(place, with: [0, 0, 0, 0])
      #expect(rows(lost) == [2, 3], "\(place)")
    }
    // Without the list any of them may be a page that was lost.
    var gone = damaged
    gone.replaceSubrange(32..<36, with: [0, 0, 0, 0])
    let list = (file.pageNumber(at: 32) - 1) * image.pageSize
    gone.replaceSubrange(list..<list + 8, with: repeatElement(0xff, count: 8))
    #expect(rows(gone).count > 10)
  }

  /// The leaves of the table with several rows, and the first row of each.
  private static func leaves(
    of image: DatabaseImage, _ layout: SalvageLayout
  ) -> [(number: Int, cell: TreePage.Cell)] {
    image.numbers.compactMap { number in
      guard let page = image.current(number), let node = TreePage(page), node.kind == .tableLeaf,
        node.cells.count > 1, let first = node.cells.first,
        let record = image.record(of: first, in: page),
        let values = StoredValue.record(record.bytes, .utf8),
        layout.trees["outbox"]?.fits(values) == true
      else { return nil }
      return (number, first)
    }
  }
}
