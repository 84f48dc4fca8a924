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
      unit: .nanoseconds
    ) {
      let shelf = try await Shelf(corpus, .writing)
      let numbers = shelf.nextNumbers(500)
      let stores = numbers.map(shelf.client.noteStore)
      let client = QueryClient.withoutObservers()
      let plain = numbers.map { client.store(for: NoteQuery(number: $0)) }
      return Trial(
        figure: {
          let time = try Self.set(stores, shelf)
          try await shelf.storage.flush()
          return time
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
      unit: .nanoseconds
    ) {
      let shelf = try await Shelf(corpus, .writing)
      return Trial(
        figure: { try await Self.setAndFlush(shelf.nextNumbers(50), shelf) },
        floor: { try shelf.writeOneByOne(50) },
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
      unit: .nanoseconds
    ) {
      let shelf = try await Shelf(corpus, .writing)
      let stores = shelf.nextNumbers(corpus.count).map(shelf.client.noteStore)
      return Trial(
        figure: { try await Self.setAll(stores, shelf) },
        floor: { try Self.writeAll(shelf) },
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
      unit: .nanoseconds
    ) {
      let shelf = try await Shelf(corpus, .writing)
      return Trial(
        figure: { try await Self.writeNew(shelf) },
        floor: { try Self.writeNewBare(shelf) },
        mostRounds: 7,
        end: { try await shelf.close() }
      )
    }
  }
}

// MARK: - Rounds

extension ChangeRows {
  private static func set(_ stores: [NoteStore], _ shelf: Shelf) throws -> Double {
    let notes = Self.notes(for: stores, edition: shelf.corpus.nextEdition())
    let watch = Stopwatch()
    for index in stores.indices { stores[index].currentValue = notes[index] }
    let time = watch.nanoseconds(per: stores.count)
    try expect(stores.map(\.currentValue), notes, "the notes of the stores")
    return time
  }

  private static func notes(for stores: [NoteStore], edition: Int) -> [Note] {
    stores.map { Note($0.currentValue?.number ?? 0, edition: edition) }
  }

  @concurrent
  private static func setAndFlush(_ numbers: [Int], _ shelf: Shelf) async throws -> Double {
    let stores = numbers.map(shelf.client.noteStore)
    let notes = Self.notes(for: stores, edition: shelf.corpus.nextEdition())
    let commits = shelf.storage.statistics.commits
    let watch = Stopwatch()
    for index in stores.indices {
      stores[index].currentValue = notes[index]
      try await shelf.storage.flush()
    }
    let time = watch.nanoseconds(per: stores.count)
    try expect(shelf.storage.statistics.commits - commits, stores.count, "the commits")
    try shelf.check(notes)
    shelf.client.clearStores()
    return time
  }

  @concurrent
  private static func setAll(_ stores: [NoteStore], _ shelf: Shelf) async throws -> Double {
    let notes = Self.notes(for: stores, edition: shelf.corpus.nextEdition())
    let writes = shelf.storage.statistics.writes
    let watch = Stopwatch()
    for index in stores.indices { stores[index].currentValue = notes[index] }
    try await shelf.storage.flush()
    let time = watch.nanoseconds(per: stores.count)
    try expect(shelf.storage.statistics.writes - writes, stores.count, "the entries written")
    try shelf.check(notes.prefix(100))
    return time
  }

  @concurrent
  private static func writeNew(_ shelf: Shelf) async throws -> Double {
    let edition = shelf.corpus.nextEdition()
    let notes = shelf.corpus.newNumbers(Self.newCount).map { Note($0, edition: edition) }
    let before = shelf.storage.statistics.entries
    let watch = Stopwatch()
    for note in notes { shelf.client.noteStore(note.number).currentValue = note }
    try await shelf.storage.flush()
    shelf.client.clearStores()
    let time = watch.nanoseconds(per: notes.count)
    try expect(shelf.storage.statistics.entries - before, notes.count, "the new entries")
    try shelf.check(notes.prefix(100))
    return time
  }

  private static func writeNewBare(_ shelf: Shelf) throws -> Double {
    var time = 0.0
    for _ in 0..<Self.newCount / 1000 {
      let entries = try shelf.newFloorEntries(1000)
      let watch = Stopwatch()
      try shelf.bare.transaction { for entry in entries { try shelf.bare.write(entry) } }
      time += watch.nanoseconds()
      try shelf.check(entries.prefix(1))
    }
    return time / Double(Self.newCount)
  }

  private static func writeAll(_ shelf: Shelf) throws -> Double {
    var time = 0.0
    for _ in 0..<shelf.corpus.count / 1000 {
      let entries = try shelf.nextFloorEntries(1000)
      let watch = Stopwatch()
      try shelf.bare.transaction { for entry in entries { try shelf.bare.write(entry) } }
      time += watch.nanoseconds()
      try shelf.check(entries.prefix(1))
    }
    return time / Double(shelf.corpus.count)
  }
}
