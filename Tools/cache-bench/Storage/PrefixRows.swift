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
      unit: .nanoseconds
    ) {
      let shelf = try await Shelf(corpus, .writing)
      let place = corpus.nextEdition()
      let client = shelf.client
      try await Self.fill(place, shelf)
      client.clearStores()
      let range = Self.range(place)
      return Trial(
        figure: {
          let watch = Stopwatch()
          try await shelf.storage.prefetch(matching: ["shelves", place])
          let time = watch.nanoseconds()
          let note = client.store(for: ShelvedNote(shelf: place, number: 7).persisted())
          try expect(note.currentValue?.number, 7, "the number of the note")
          client.clearStores()
          return time
        },
        floor: {
          let watch = Stopwatch()
          let values = try shelf.bare.values(from: range.lower, to: range.upper)
          let time = watch.nanoseconds()
          try expect(values.count, Self.count, "the values of the shelf")
          return time
        },
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
      unit: .nanoseconds
    ) {
      let shelf = try await Shelf(corpus, .writing)
      let place = corpus.nextEdition()
      let range = Self.range(place)
      return Trial(
        figure: {
          try await Self.fill(place, shelf, onBoth: false)
          let writes = shelf.storage.statistics.commits
          let watch = Stopwatch()
          shelf.storage.invalidate(matching: ["shelves", place])
          try await shelf.storage.flush()
          let time = watch.nanoseconds()
          try expect(shelf.storage.statistics.commits > writes, true, "the commits")
          shelf.client.clearStores()
          let note = shelf.client.store(for: ShelvedNote(shelf: place, number: 7).persisted())
          try expect(note.isInvalidated, true, "the note")
          shelf.client.clearStores()
          return time
        },
        floor: {
          try Self.fillBare(place, shelf)
          let watch = Stopwatch()
          let count = try shelf.bare.invalidate(from: range.lower, to: range.upper)
          let time = watch.nanoseconds()
          try expect(count, Self.count, "the entries of the shelf")
          return time
        },
        mostRounds: 11,
        end: { try await shelf.close() }
      )
    }
  }

  private static func range(_ place: Int) -> (lower: String, upper: String) {
    (#"["shelves",\#(place),"#, #"["shelves",\#(place)-"#)
  }

  /// Writes the notes of a shelf anew, through the storage and through C.
  @concurrent
  private static func fill(_ place: Int, _ shelf: Shelf, onBoth: Bool = true) async throws {
    let edition = shelf.corpus.nextEdition()
    for number in 0..<Self.count {
      let query = ShelvedNote(shelf: place, number: number)
      shelf.client.store(for: query.persisted()).currentValue = Note(number, edition: edition)
    }
    try await shelf.storage.flush()
    if onBoth { try Self.fillBare(place, shelf) }
  }

  private static func fillBare(_ place: Int, _ shelf: Shelf) throws {
    let edition = shelf.corpus.nextEdition()
    let encoder = JSONEncoder()
    try shelf.bare.transaction {
      for number in 0..<Self.count {
        let query = ShelvedNote(shelf: place, number: number)
        try shelf.bare.write(
          BareEntry(
            hash: (0..<16).map { _ in UInt8.random(in: 0...255) },
            identity: try QueryIdentity(path: query.path).text,
            value: try encoder.encode(Note(number, edition: edition))))
      }
    }
  }
}
