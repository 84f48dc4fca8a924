import Foundation
import Query
import QuerySQLite

/// What a new store of a persisted query costs its caller while another thread changes values: what a
/// main thread waits for.
enum BesideWriterRows {
  static func all(_ corpus: Corpus) -> [Row] {
    [
      Self.row("p50", 0.5, limit: 15_000, corpus),
      Self.row("p99", 0.99, limit: 100_000, corpus),
      Self.row("max", 1, limit: 8_000_000, corpus),
    ]
  }

  private static let batch = 1000

  private static func row(_ name: String, _ part: Double, limit: Double, _ corpus: Corpus) -> Row {
    Row(
      name: "hydrate-beside-writer-\(name)",
      title: "new store hydrated beside a writer, \(name)",
      goal: .atMost(limit),
      floor: "C point read and JSON decode beside it",
      lean: .program("the same of a row with one index"),
      unit: .nanoseconds
    ) {
      let shelf = try await Shelf(corpus, .reading)
      let writer = BusyWriter(corpus, shelf.storage)
      return Trial(
        counting: { try Self.part(part) { try Self.hydrate(shelf) } },
        floor: { try Self.part(part) { try Self.read(shelf, .floor) } },
        lean: { try Self.part(part) { try Self.read(shelf, .lean) } },
        mostRounds: 11,
        end: {
          try await writer.end()
          try await shelf.close()
        }
      )
    }
  }

  /// What the writer uses meanwhile is in it, on both sides.
  private static func part(
    _ part: Double, of measure: () throws -> [Double]
  ) rethrows -> Reading {
    let gauge = Gauge()
    let times = try measure()
    let time = times.sorted()[min(Int(Double(times.count) * part), times.count - 1)]
    return gauge.reading(of: time, per: times.count)
  }

  private static func hydrate(_ shelf: Shelf) throws -> [Double] {
    var stores = [NoteStore]()
    stores.reserveCapacity(Self.batch)
    let times = shelf.nextNumbers(Self.batch).map { number in
      let watch = Stopwatch()
      let store = shelf.client.noteStore(number)
      let time = watch.nanoseconds()
      stores.append(store)
      return time
    }
    let isEach = stores.allSatisfy { $0.currentValue != nil }
    try expect(isEach, true, "whether all stores have their values")
    shelf.client.clearStores()
    return times
  }

  private static func read(_ shelf: Shelf, _ program: PlainProgram) throws -> [Double] {
    let decoder = JSONDecoder()
    let database = shelf.database(program)
    let numbers = shelf.nextNumbers(Self.batch, for: program)
    return try numbers.map(NoteQuery.identity).map { identity in
      let watch = Stopwatch()
      let note = try decoder.decode(Note.self, from: try database.value(at: identity))
      let time = watch.nanoseconds()
      try expect(note.title.isEmpty, false, "whether a note is empty")
      return time
    }
  }
}

/// A thread that changes the values of other stores of a storage, a few hundred each 50 ms.
private struct BusyWriter {
  private let task: Task<Int, any Error>

  init(_ corpus: Corpus, _ storage: SQLiteQueryStorage) {
    self.task = Task.detached {
      let client = QueryClient.withoutObservers(storage: storage)
      let stores = (0..<500).map { client.noteStore(corpus.count + 5_000_000 + $0) }
      var changes = 0
      while !Task.isCancelled {
        let edition = corpus.nextEdition() % 1_000_000
        for (number, store) in stores.enumerated() {
          store.currentValue = Note(number, edition: edition)
          changes += 1
        }
        try? await Task.sleep(for: .milliseconds(20))
      }
      for store in stores { store.currentValue = nil }
      try await storage.flush()
      return changes
    }
  }

  func end() async throws {
    self.task.cancel()
    if try await self.task.value == 0 { throw CheckFailure(description: "nothing was changed") }
  }
}
