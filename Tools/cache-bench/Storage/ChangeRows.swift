import Foundation
import Query
import QuerySQLite

/// Changes of stores that are kept on disk.
enum ChangeRows {
  static func all(_ corpus: Corpus) -> [Row] {
    [Self.caller(corpus), Self.flushed(corpus), Self.sustained(corpus), Self.new(corpus)]
  }

  private static func caller(_ corpus: Corpus) -> Row {
    Row(
      name: "change-caller",
      title: "persisted change, what it costs the caller",
      goal: .atMost(2000),
      floor: "currentValue = of a store that is not persisted",
      lean: .absent("nothing is written on the caller's thread"),
      unit: .nanoseconds
    ) {
      let shelf = try await Shelf(corpus, .writing)
      let numbers = shelf.nextNumbers(500)
      let stores = numbers.map(shelf.client.noteStore)
      let client = QueryClient.withoutObservers()
      let plain = numbers.map { client.store(for: NoteQuery(number: $0)) }
      return Trial(
        counting: {
          let reading = try Self.set(stores, shelf)
          try await shelf.storage.flush()
          return reading
        },
        floor: { try Self.set(plain, shelf) },
        end: { try await shelf.close() }
      )
    }
  }

  private static func flushed(_ corpus: Corpus) -> Row {
    Row(
      name: "change-flushed",
      title: "one change among \(corpus.count), until flush() returns",
      goal: .timesFloor(2),
      floor: "C upsert in its own transaction",
      lean: .program("the same of a row with one index"),
      unit: .nanoseconds
    ) {
      let shelf = try await Shelf(corpus, .writing)
      return Trial(
        counting: { try await Self.setAndFlush(shelf.nextNumbers(50), shelf) },
        floor: { try shelf.writeOneByOne(50, by: .floor) },
        lean: { try shelf.writeOneByOne(50, by: .lean) },
        end: { try await shelf.close() }
      )
    }
  }

  private static func sustained(_ corpus: Corpus) -> Row {
    Row(
      name: "change-sustained",
      title: "\(corpus.count) changes sustained, each",
      goal: .timesFloor(1 / 0.8),
      floor: "C upsert in transactions of 1000",
      lean: .program("the same of rows with one index"),
      unit: .nanoseconds
    ) {
      let shelf = try await Shelf(corpus, .writing)
      let stores = shelf.nextNumbers(corpus.count).map(shelf.client.noteStore)
      return Trial(
        counting: { try await Self.setAll(stores, shelf) },
        floor: { try Self.writeAll(shelf, by: .floor) },
        lean: { try Self.writeAll(shelf, by: .lean) },
        mostRounds: 5,
        end: { try await shelf.close() }
      )
    }
  }

  private static let newCount = 10_000

  private static func new(_ corpus: Corpus) -> Row {
    Row(
      name: "new-sustained",
      title: "\(Self.newCount) new entries sustained, their stores made and released, each",
      goal: .atMost(12_000),
      floor: "C insert in transactions of 1000",
      lean: .program("the same of rows with one index"),
      unit: .nanoseconds
    ) {
      let shelf = try await Shelf(corpus, .writing)
      return Trial(
        counting: { try await Self.writeNew(shelf) },
        floor: { try Self.writeNew(shelf, by: .floor) },
        lean: { try Self.writeNew(shelf, by: .lean) },
        mostRounds: 7,
        end: { try await shelf.close() }
      )
    }
  }
}

// MARK: - Rounds

extension ChangeRows {
  private static func set(_ stores: [NoteStore], _ shelf: Shelf) throws -> Reading {
    let notes = Self.notes(for: stores, edition: shelf.corpus.nextEdition())
    let gauge = Gauge()
    for index in stores.indices { stores[index].currentValue = notes[index] }
    let reading = gauge.reading(per: stores.count)
    try expect(stores.map(\.currentValue), notes, "the notes of the stores")
    return reading
  }

  private static func notes(for stores: [NoteStore], edition: Int) -> [Note] {
    stores.map { Note($0.currentValue?.number ?? 0, edition: edition) }
  }

  @concurrent
  private static func setAndFlush(_ numbers: [Int], _ shelf: Shelf) async throws -> Reading {
    let stores = numbers.map(shelf.client.noteStore)
    let notes = Self.notes(for: stores, edition: shelf.corpus.nextEdition())
    let commits = shelf.storage.statistics.commits
    let gauge = Gauge()
    for index in stores.indices {
      stores[index].currentValue = notes[index]
      try await shelf.storage.flush()
    }
    let reading = gauge.reading(per: stores.count)
    try expect(shelf.storage.statistics.commits - commits, stores.count, "the commits")
    try shelf.check(notes)
    shelf.client.clearStores()
    return reading
  }

  @concurrent
  private static func setAll(_ stores: [NoteStore], _ shelf: Shelf) async throws -> Reading {
    let notes = Self.notes(for: stores, edition: shelf.corpus.nextEdition())
    let writes = shelf.storage.statistics.writes
    let gauge = Gauge()
    for index in stores.indices { stores[index].currentValue = notes[index] }
    try await shelf.storage.flush()
    let reading = gauge.reading(per: stores.count)
    try expect(shelf.storage.statistics.writes - writes, stores.count, "the entries written")
    try shelf.check(notes.prefix(100))
    return reading
  }

  @concurrent
  private static func writeNew(_ shelf: Shelf) async throws -> Reading {
    let edition = shelf.corpus.nextEdition()
    let notes = shelf.corpus.newNumbers(Self.newCount).map { Note($0, edition: edition) }
    let before = shelf.storage.statistics.entries
    let gauge = Gauge()
    for note in notes { shelf.client.noteStore(note.number).currentValue = note }
    try await shelf.storage.flush()
    shelf.client.clearStores()
    let reading = gauge.reading(per: notes.count)
    try expect(shelf.storage.statistics.entries - before, notes.count, "the new entries")
    try shelf.check(notes.prefix(100))
    return reading
  }

  private static func writeNew(_ shelf: Shelf, by program: PlainProgram) throws -> Reading {
    try shelf.writeThousands(Self.newCount, by: program) { try shelf.newEntries(1_000) }
  }

  private static func writeAll(_ shelf: Shelf, by program: PlainProgram) throws -> Reading {
    try shelf.writeThousands(shelf.corpus.count, by: program) {
      try shelf.nextEntries(1_000, for: program)
    }
  }
}
