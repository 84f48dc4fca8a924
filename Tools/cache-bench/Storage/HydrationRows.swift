import Foundation
import Query
import QuerySQLite

/// Stores that are created, and have the value that is on disk.
enum HydrationRows {
  static func all(_ corpus: Corpus) -> [Row] {
    [
      Self.row(
        "hydrate-store", "new store hydrated from disk, each", .timesFloor(1.3), corpus),
      Self.row(
        "hydrate-store-beside", "new store hydrated from disk, beside the floor", .above(5000),
        corpus),
      Self.many("hydrate-10000", "10000 stores hydrated", isPrefetched: false, corpus),
      Self.many(
        "hydrate-10000-prefetched", "10000 stores hydrated, prefetch(matching:) included",
        isPrefetched: true, corpus),
    ]
  }

  private static let batch = 500

  private static func row(_ name: String, _ title: String, _ goal: Goal, _ corpus: Corpus) -> Row {
    Row(
      name: name,
      title: title,
      goal: goal,
      floor: "C point read and JSON decode",
      unit: .nanoseconds
    ) {
      let shelf = try await Shelf(corpus, .reading)
      return Trial(
        figure: {
          try Self.hydrate(shelf.nextNumbers(Self.batch), shelf) / Double(Self.batch)
        },
        floor: {
          try Self.read(shelf.nextFloorNumbers(Self.batch), shelf) / Double(Self.batch)
        },
        end: { try await shelf.close() }
      )
    }
  }

  private static func many(
    _ name: String,
    _ title: String,
    isPrefetched: Bool,
    _ corpus: Corpus
  ) -> Row {
    Row(
      name: name,
      title: title,
      goal: .atMost(100_000_000),
      floor: "C point reads in one transaction, JSON decode",
      unit: .nanoseconds
    ) {
      let shelf = try await Shelf(corpus, .reading)
      return Trial(
        figure: { try await Self.hydrateFolder(shelf, isPrefetched: isPrefetched) },
        floor: {
          let numbers = Self.nextFolder(shelf.nextFloorNumbers(1))
          return try shelf.bare.transaction { try Self.read(numbers, shelf) }
        },
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

  @concurrent
  private static func hydrateFolder(_ shelf: Shelf, isPrefetched: Bool) async throws -> Double {
    let numbers = Self.nextFolder(shelf.nextNumbers(1))
    var time = 0.0
    if isPrefetched {
      let path: QueryPath = ["notes", numbers[0] / NoteQuery.folderCount]
      let watch = Stopwatch()
      try await shelf.storage.prefetch(matching: path)
      time = watch.nanoseconds()
    }
    return time + (try self.hydrate(numbers, shelf))
  }

  /// The nanoseconds that all of some stores take.
  private static func hydrate(_ numbers: [Int], _ shelf: Shelf) throws -> Double {
    var stores = [NoteStore]()
    stores.reserveCapacity(numbers.count)
    let hits = shelf.storage.statistics.hits
    let watch = Stopwatch()
    for number in numbers { stores.append(shelf.client.noteStore(number)) }
    let time = watch.nanoseconds()
    try expect(shelf.storage.statistics.hits - hits, numbers.count, "the hydrated stores")
    let values = stores.map(\.currentValue)
    for (number, value) in zip(numbers, values) {
      try expect(value, Note(number, edition: value?.edition ?? 0), "a note")
    }
    shelf.client.clearStores()
    return time
  }

  private static func read(_ numbers: [Int], _ shelf: Shelf) throws -> Double {
    let hashes = shelf.hashes(of: numbers)
    let decoder = JSONDecoder()
    var notes = [Note]()
    notes.reserveCapacity(numbers.count)
    let watch = Stopwatch()
    for hash in hashes {
      notes.append(try decoder.decode(Note.self, from: try shelf.bare.value(at: hash)))
    }
    let time = watch.nanoseconds()
    try expect(notes.map(\.number), numbers, "the notes")
    return time
  }
}
