import Foundation
import Query
import QuerySQLite

/// What changes append to the WAL, in bytes: a mean over many changed ones, and the median of
/// single new ones, a few of which split pages of an index.
enum LogRows {
  static func all(_ corpus: Corpus) -> [Row] {
    [Self.changed(corpus), Self.new(corpus), Self.pages(corpus), Self.pagesApart(corpus)]
  }

  private static let frame = 4096 + 24
  private static let batch = 500

  private static func changed(_ corpus: Corpus) -> Row {
    Row(
      name: "log-changed-entry",
      title: "bytes appended to the WAL, one changed entry",
      goal: .atMost(16_512),
      floor: "C upsert in its own transaction",
      unit: .bytes
    ) {
      let shelf = try await Shelf(corpus, .writing)
      return Trial(
        figure: { try await Self.set(shelf.nextNumbers(Self.batch), shelf, areNew: false) },
        floor: { try Self.write(try shelf.nextFloorEntries(Self.batch), shelf) },
        mostRounds: 5,
        end: { try await shelf.close() }
      )
    }
  }

  private static func new(_ corpus: Corpus) -> Row {
    Row(
      name: "log-new-entry",
      title: "bytes appended to the WAL, one new entry",
      goal: .atMost(Double(5 * Self.frame)),
      floor: "C insert in its own transaction",
      unit: .bytes
    ) {
      let shelf = try await Shelf(corpus, .writing)
      return Trial(
        figure: { try await Self.set(corpus.newNumbers(1), shelf, areNew: true) },
        floor: { try Self.write(try shelf.newFloorEntries(1), shelf) },
        mostRounds: 101,
        end: { try await shelf.close() }
      )
    }
  }

  private static func pages(_ corpus: Corpus) -> Row {
    Row(
      name: "log-100-pages",
      title: "bytes appended to the WAL, 100 pages of 1 KB back to back",
      goal: .atMost(250_000),
      floor: "C insert of an entry and 100 pages, one transaction",
      unit: .bytes
    ) {
      let shelf = try await Shelf(corpus, .writing)
      return Trial(
        figure: { try await Self.fetchPages(shelf) },
        floor: { try Self.writePages(shelf) },
        mostRounds: 11,
        end: { try await shelf.close() }
      )
    }
  }

  private static func pagesApart(_ corpus: Corpus) -> Row {
    Row(
      name: "log-page-apart",
      title: "bytes appended to the WAL, a page of 1 KB in a commit of its own",
      goal: .atMost(12_000),
      floor: "C insert of a page and update of its entry",
      unit: .bytes
    ) {
      let shelf = try await Shelf(corpus, .writing)
      return Trial(
        figure: { try await Self.fetchPages(shelf, apart: true) / 100 },
        floor: { try Self.writePagesApart(shelf) / 100 },
        mostRounds: 11,
        end: { try await shelf.close() }
      )
    }
  }
}

// MARK: - Rounds

extension LogRows {
  @concurrent
  private static func set(_ numbers: [Int], _ shelf: Shelf, areNew: Bool) async throws -> Double {
    let edition = shelf.corpus.nextEdition()
    let before = shelf.storage.statistics
    for number in numbers {
      shelf.client.noteStore(number).currentValue = Note(number, edition: edition)
      try await shelf.storage.flush()
    }
    let after = shelf.storage.statistics
    try expect(after.commits - before.commits, numbers.count, "the commits")
    try expect(after.entries - before.entries, areNew ? numbers.count : 0, "the new entries")
    try shelf.check(numbers.map { Note($0, edition: edition) })
    shelf.client.clearStores()
    return Double(after.bytesWritten - before.bytesWritten) / Double(numbers.count)
  }

  private static func write(_ entries: [BareEntry], _ shelf: Shelf) throws -> Double {
    let before = try shelf.bare.bytesWritten()
    for entry in entries { try shelf.bare.transaction { try shelf.bare.write(entry) } }
    let after = try shelf.bare.bytesWritten()
    try shelf.check(entries)
    return Double(after - before) / Double(entries.count)
  }

  @concurrent
  private static func fetchPages(_ shelf: Shelf, apart: Bool = false) async throws -> Double {
    let query = NotePages(list: shelf.corpus.nextEdition()).persisted()
    let before = shelf.storage.statistics.bytesWritten
    let store = shelf.client.store(for: query)
    for _ in 0..<100 {
      try await store.fetchNextPage()
      if apart { try await shelf.storage.flush() }
    }
    try await shelf.storage.flush()
    let after = shelf.storage.statistics.bytesWritten
    let again = QueryClient.withoutObservers(storage: shelf.storage).store(for: query)
    await again.hydrated()
    try expect(
      again.currentValue.map(\.value), store.currentValue.map(\.value), "the pages on disk")
    try expect(again.currentValue.count, 100, "the pages on disk")
    shelf.client.clearStores()
    return Double(after - before)
  }

  private static func writePages(_ shelf: Shelf) throws -> Double {
    let entries = try shelf.newFloorEntries(100)
    let before = try shelf.bare.bytesWritten()
    try shelf.bare.transaction {
      try shelf.bare.write(entries[0])
      try shelf.bare.write(pages: entries)
    }
    return Double(try shelf.bare.bytesWritten() - before)
  }

  private static func writePagesApart(_ shelf: Shelf) throws -> Double {
    let entries = try shelf.newFloorEntries(101)
    try shelf.bare.transaction { try shelf.bare.write(entries[0]) }
    let entry = shelf.bare.lastInsertedID
    let before = try shelf.bare.bytesWritten()
    for (index, page) in entries.dropFirst().enumerated() {
      try shelf.bare.transaction {
        try shelf.bare.write(pages: [page], of: entry, from: index)
        try shelf.bare.touch(entry)
      }
    }
    return Double(try shelf.bare.bytesWritten() - before)
  }
}
