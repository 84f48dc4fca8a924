import Foundation
import Query
import QuerySQLite

/// Stores that are created, and have the value that is on disk.
enum HydrationRows {
  static func all(_ corpus: Corpus) -> [Row] {
    [
      // Besides the read and the decoding it makes a new store, which may take as long as one of
      // the engine's.
      Self.row(
        "hydrate-store", "new store hydrated from disk, each", .timesFloorAndMore(1.3, 5000),
        corpus),
      Self.many("hydrate-10000", "10000 stores hydrated, by two threads", corpus),
    ]
  }

  private static let batch = 500

  private static func row(_ name: String, _ title: String, _ goal: Goal, _ corpus: Corpus) -> Row {
    Row(
      name: name,
      title: title,
      goal: goal,
      floor: "C point read and JSON decode",
      lean: .program("the same of a row with one index"),
      unit: .nanoseconds
    ) {
      let shelf = try await Shelf(corpus, .reading)
      return Trial(
        counting: { try Self.hydrate(shelf.nextNumbers(Self.batch), shelf) / Self.batch },
        floor: {
          try Self.read(shelf.nextNumbers(Self.batch, for: .floor), shelf, .floor) / Self.batch
        },
        lean: {
          try Self.read(shelf.nextNumbers(Self.batch, for: .lean), shelf, .lean) / Self.batch
        },
        end: { try await shelf.close() }
      )
    }
  }

  private static func many(
    _ name: String,
    _ title: String,
    _ corpus: Corpus
  ) -> Row {
    Row(
      name: name,
      title: title,
      goal: .atMost(100_000_000),
      floor: "C point reads in one transaction, JSON decode",
      lean: .program("the same of rows with one index"),
      unit: .nanoseconds
    ) {
      let shelf = try await Shelf(corpus, .reading)
      return Trial(
        counting: { try Self.hydrateByTwo(Self.nextFolder(shelf.nextNumbers(1)), shelf) },
        floor: { try Self.readFolder(shelf, .floor) },
        lean: { try Self.readFolder(shelf, .lean) },
        mostRounds: 11,
        end: { try await shelf.close() }
      )
    }
  }
}

// MARK: - Rounds

extension HydrationRows {
  /// All numbers of the folder that the next number is in.
  private static func nextFolder(_ next: [Int]) -> [Int] {
    let count = NoteQuery.folderCount
    let first = next[0] / count * count
    return (0..<count).map { first + $0 * 6101 % count }
  }

  /// The nanoseconds until two threads, each with a reader of the storage's two, have all stores.
  private static func hydrateByTwo(_ numbers: [Int], _ shelf: Shelf) throws -> Reading {
    let hits = shelf.storage.statistics.hits
    let client = shelf.client
    let gauge = Gauge()
    DispatchQueue.concurrentPerform(iterations: 2) { half in
      let half =
        half == 0 ? numbers.prefix(numbers.count / 2) : numbers.dropFirst(numbers.count / 2)
      for number in half { _ = client.noteStore(number) }
    }
    let reading = gauge.reading()
    try expect(shelf.storage.statistics.hits - hits, numbers.count, "the hydrated stores")
    for number in numbers {
      let value = client.noteStore(number).currentValue
      try expect(value, Note(number, edition: value?.edition ?? 0), "a note")
    }
    client.clearStores()
    return reading
  }

  /// The nanoseconds that all of some stores take.
  private static func hydrate(_ numbers: [Int], _ shelf: Shelf) throws -> Reading {
    var stores = [NoteStore]()
    stores.reserveCapacity(numbers.count)
    let hits = shelf.storage.statistics.hits
    let gauge = Gauge()
    for number in numbers { stores.append(shelf.client.noteStore(number)) }
    let reading = gauge.reading()
    try expect(shelf.storage.statistics.hits - hits, numbers.count, "the hydrated stores")
    let values = stores.map(\.currentValue)
    for (number, value) in zip(numbers, values) {
      try expect(value, Note(number, edition: value?.edition ?? 0), "a note")
    }
    shelf.client.clearStores()
    return reading
  }

  private static func readFolder(_ shelf: Shelf, _ program: PlainProgram) throws -> Reading {
    let numbers = Self.nextFolder(shelf.nextNumbers(1, for: program))
    return try shelf.database(program).transaction { try Self.read(numbers, shelf, program) }
  }

  private static func read(
    _ numbers: [Int], _ shelf: Shelf, _ program: PlainProgram
  ) throws -> Reading {
    let identities = try numbers.map(NoteQuery.identity)
    let decoder = JSONDecoder()
    let database = shelf.database(program)
    var notes = [Note]()
    notes.reserveCapacity(numbers.count)
    let gauge = Gauge()
    for identity in identities {
      notes.append(try decoder.decode(Note.self, from: try database.value(at: identity)))
    }
    let reading = gauge.reading()
    try expect(notes.map(\.number), numbers, "the notes")
    return reading
  }
}
