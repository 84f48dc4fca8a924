import Foundation
import Query
import QuerySQLite

/// What is done with all entries under a path, among many others.
enum PrefixRows {
  static func all(_ corpus: Corpus) -> [Row] { [Self.prefetch(corpus), Self.invalidate(corpus)] }

  private static let count = 1_000
  private static let goal = Goal.atMost(4_000_000)

  /// A note that is put on a shelf: so many are on one.
  private struct ShelvedNote: QueryRequest {
    let shelf: Int
    let number: Int

    var path: QueryPath { ["shelves", self.shelf, self.number] }

    func fetch(
      in context: QueryContext,
      with continuation: QueryContinuation<Note>
    ) async throws -> Note { Note(self.number, edition: 0) }
  }

  private static func prefetch(_ corpus: Corpus) -> Row {
    Row(
      name: "prefetch-prefix",
      title: "prefetch(matching:) of \(Self.count) among \(corpus.count)",
      goal: Self.goal,
      floor: "C scan of the range",
      lean: .program("the same of rows with one index"),
      unit: .nanoseconds
    ) {
      let shelf = try await Shelf(corpus, .writing)
      let place = corpus.nextEdition()
      let client = shelf.client
      try await Self.fill(place, shelf)
      client.clearStores()
      for program in [PlainProgram.floor, .lean] { try Self.fill(place, shelf, program) }
      let range = Self.range(place)
      return Trial(
        counting: {
          let gauge = Gauge()
          try await shelf.storage.prefetch(matching: ["shelves", place])
          let reading = gauge.reading()
          let note = client.store(for: ShelvedNote(shelf: place, number: 7).persisted())
          try expect(note.currentValue?.number, 7, "the number of the note")
          client.clearStores()
          return reading
        },
        floor: { try Self.scan(range, shelf.database(.floor)) },
        lean: { try Self.scan(range, shelf.database(.lean)) },
        mostRounds: 31,
        end: { try await shelf.close() }
      )
    }
  }

  private static func invalidate(_ corpus: Corpus) -> Row {
    Row(
      name: "invalidate-prefix",
      title: "invalidate(matching:) of \(Self.count) among \(corpus.count), until flush() returns",
      goal: Self.goal,
      floor: "C update of the range, one transaction",
      lean: .program("the same of rows with one index"),
      unit: .nanoseconds
    ) {
      let shelf = try await Shelf(corpus, .writing)
      let place = corpus.nextEdition()
      let range = Self.range(place)
      return Trial(
        counting: {
          try await Self.fill(place, shelf)
          let writes = shelf.storage.statistics.commits
          let gauge = Gauge()
          shelf.storage.invalidate(matching: ["shelves", place])
          try await shelf.storage.flush()
          let reading = gauge.reading()
          try expect(shelf.storage.statistics.commits > writes, true, "the commits")
          shelf.client.clearStores()
          let note = shelf.client.store(for: ShelvedNote(shelf: place, number: 7).persisted())
          try expect(note.isInvalidated, true, "the note")
          shelf.client.clearStores()
          return reading
        },
        floor: { try Self.invalidate(range, place, shelf, .floor) },
        lean: { try Self.invalidate(range, place, shelf, .lean) },
        mostRounds: 11,
        end: { try await shelf.close() }
      )
    }
  }

  private static func scan(_ range: Range, _ database: any PlainDatabase) throws -> Reading {
    let gauge = Gauge()
    let values = try database.values(from: range.lower, to: range.upper)
    let reading = gauge.reading()
    try expect(values.count, Self.count, "the values of the shelf")
    return reading
  }

  private static func invalidate(
    _ range: Range, _ place: Int, _ shelf: Shelf, _ program: PlainProgram
  ) throws -> Reading {
    try Self.fill(place, shelf, program)
    let gauge = Gauge()
    let count = try shelf.database(program).invalidate(from: range.lower, to: range.upper)
    let reading = gauge.reading()
    try expect(count, Self.count, "the entries of the shelf")
    return reading
  }

  /// The identities from one text on, before another one.
  private typealias Range = (lower: String, upper: String)

  private static func range(_ place: Int) -> Range {
    (#"["shelves",\#(place),"#, #"["shelves",\#(place)-"#)
  }

  /// Writes the notes of a shelf anew, through the storage.
  @concurrent
  private static func fill(_ place: Int, _ shelf: Shelf) async throws {
    let edition = shelf.corpus.nextEdition()
    for number in 0..<Self.count {
      let query = ShelvedNote(shelf: place, number: number)
      shelf.client.store(for: query.persisted()).currentValue = Note(number, edition: edition)
    }
    try await shelf.storage.flush()
  }

  /// The same through C.
  private static func fill(_ place: Int, _ shelf: Shelf, _ program: PlainProgram) throws {
    let edition = shelf.corpus.nextEdition()
    let encoder = JSONEncoder()
    let database = shelf.database(program)
    try database.transaction {
      for number in 0..<Self.count {
        let query = ShelvedNote(shelf: place, number: number)
        try database.write(
          BareEntry(
            hash: (0..<16).map { _ in UInt8.random(in: 0...255) },
            identity: try QueryIdentity(path: query.path).text,
            value: try encoder.encode(Note(number, edition: edition))))
      }
    }
  }
}
