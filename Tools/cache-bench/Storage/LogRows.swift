import Foundation
import Query
import QuerySQLite

/// What changes append to the WAL, in bytes, each in a commit of its own: a mean over many, since every
/// third new one takes a new page of the table, and a few split pages of an index.
enum LogRows {
  static func all(_ corpus: Corpus) -> [Row] {
    [Self.changed(corpus), Self.new(corpus), Self.pages(corpus), Self.pagesApart(corpus)]
  }

  private static let frame = 4096 + 24
  private static let batch = 500
  private static let newBatch = 100

  private static func changed(_ corpus: Corpus) -> Row {
    Row(
      name: "log-changed-entry",
      title: "bytes appended to the WAL, one changed entry",
      goal: .atMost(16_512),
      floor: "C upsert in its own transaction",
      lean: .program("the same of a row with one index"),
      unit: .bytes
    ) {
      let shelf = try await Shelf(corpus, .writing)
      return Trial(
        counting: { try await Self.set(shelf.nextNumbers(Self.batch), shelf, areNew: false) },
        floor: {
          try Self.write(try shelf.nextEntries(Self.batch, for: .floor), shelf, .floor)
        },
        lean: { try Self.write(try shelf.nextEntries(Self.batch, for: .lean), shelf, .lean) },
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
      lean: .program("the same of a row with one index"),
      unit: .bytes
    ) {
      let shelf = try await Shelf(corpus, .writing)
      return Trial(
        counting: {
          try await Self.set(corpus.newNumbers(Self.newBatch), shelf, areNew: true)
        },
        floor: { try Self.write(try shelf.newEntries(Self.newBatch), shelf, .floor) },
        lean: { try Self.write(try shelf.newEntries(Self.newBatch), shelf, .lean) },
        mostRounds: 5,
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
      lean: .program("an entry, and pages that its number finds"),
      unit: .bytes
    ) {
      let shelf = try await Shelf(corpus, .writing)
      return Trial(
        counting: { try await Self.fetchPages(shelf) },
        floor: { try Self.writePages(shelf, .floor) },
        lean: { try Self.writePages(shelf, .lean) },
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
      lean: .program("C insert of a page that the entry's number finds"),
      unit: .bytes
    ) {
      let shelf = try await Shelf(corpus, .writing)
      return Trial(
        counting: { try await Self.fetchPages(shelf, apart: true) / 100 },
        floor: { try Self.writePagesApart(shelf, .floor) / 100 },
        lean: { try Self.writePagesApart(shelf, .lean) / 100 },
        mostRounds: 11,
        end: { try await shelf.close() }
      )
    }
  }
}

// MARK: - Rounds

extension LogRows {
  @concurrent
  private static func set(_ numbers: [Int], _ shelf: Shelf, areNew: Bool) async throws -> Reading {
    let edition = shelf.corpus.nextEdition()
    let before = shelf.storage.statistics
    let gauge = Gauge()
    for number in numbers {
      shelf.client.noteStore(number).currentValue = Note(number, edition: edition)
      try await shelf.storage.flush()
    }
    let after = shelf.storage.statistics
    let bytes = Double(after.bytesWritten - before.bytesWritten) / Double(numbers.count)
    let reading = gauge.reading(of: bytes, per: numbers.count)
    try expect(after.commits - before.commits, numbers.count, "the commits")
    try expect(after.entries - before.entries, areNew ? numbers.count : 0, "the new entries")
    try shelf.check(numbers.map { Note($0, edition: edition) })
    shelf.client.clearStores()
    return reading
  }

  private static func write(
    _ entries: [BareEntry], _ shelf: Shelf, _ program: PlainProgram
  ) throws -> Reading {
    let database = shelf.database(program)
    let sum = try Self.bytesWritten(to: database) {
      for entry in entries { try database.transaction { try database.write(entry) } }
    }
    try shelf.check(entries, in: program)
    return sum / entries.count
  }

  private static func bytesWritten(
    to database: any PlainDatabase, by work: () throws -> Void
  ) throws -> Reading {
    let before = try database.bytesWritten()
    let gauge = Gauge()
    try work()
    return gauge.reading(of: Double(try database.bytesWritten() - before))
  }

  @concurrent
  private static func fetchPages(_ shelf: Shelf, apart: Bool = false) async throws -> Reading {
    let query = NotePages(list: shelf.corpus.nextEdition()).persisted()
    let before = shelf.storage.statistics.bytesWritten
    let gauge = Gauge()
    let store = shelf.client.store(for: query)
    for _ in 0..<100 {
      try await store.fetchNextPage()
      if apart { try await shelf.storage.flush() }
    }
    try await shelf.storage.flush()
    let bytes = shelf.storage.statistics.bytesWritten - before
    let reading = gauge.reading(of: Double(bytes))
    let again = QueryClient.withoutObservers(storage: shelf.storage).store(for: query)
    await again.hydrated()
    try expect(
      again.currentValue.map(\.value), store.currentValue.map(\.value), "the pages on disk")
    try expect(again.currentValue.count, 100, "the pages on disk")
    shelf.client.clearStores()
    return reading
  }

  private static func writePages(_ shelf: Shelf, _ program: PlainProgram) throws -> Reading {
    let entries = try shelf.newEntries(100)
    let database = shelf.database(program)
    return try Self.bytesWritten(to: database) {
      try database.transaction {
        try database.write(entries[0])
        try database.write(pages: entries, of: database.connection.lastInsertedID, from: 0)
      }
    }
  }

  private static func writePagesApart(
    _ shelf: Shelf, _ program: PlainProgram
  ) throws -> Reading {
    let entries = try shelf.newEntries(101)
    let database = shelf.database(program)
    try database.transaction { try database.write(entries[0]) }
    let entry = database.connection.lastInsertedID
    return try Self.bytesWritten(to: database) {
      for (index, page) in entries.dropFirst().enumerated() {
        try database.transaction {
          try database.write(pages: [page], of: entry, from: index)
          try database.touch(entry)
        }
      }
    }
  }
}
