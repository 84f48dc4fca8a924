import Foundation
import Query
import QuerySQLite

/// What comes before the first value, and what all takes in memory.
enum OpeningRows {
  static func all(_ corpus: Corpus) -> [Row] {
    [Self.opening(corpus), Self.process(corpus), Self.wholeProcess(corpus), Self.memory(corpus)]
  }

  private static func opening(_ corpus: Corpus) -> Row {
    Row(
      name: "open-and-hydrate",
      title: "storage opened and first store hydrated",
      goal: .atMost(3_000_000),
      floor: "C open, pragmas, statements, point read, JSON decode",
      lean: .program("the same of a row with one index"),
      unit: .nanoseconds
    ) {
      let files = try await corpus.files()
      return Trial(
        counting: { try await Self.open(files.folder, corpus.nextNumber()) },
        floor: { try Self.open(corpus.nextNumber()) { try BareDatabase(path: files.cache) } },
        lean: { try Self.open(corpus.nextNumber()) { try LeanDatabase(path: files.lean) } }
      )
    }
  }

  private static func process(_ corpus: Corpus) -> Row {
    Row(
      name: "process-first-value",
      title: "process start to first hydrated value",
      goal: .above(3_000_000),
      floor: "the same program, which says at once that it is there",
      lean: .program("a program in C alone: open, point read"),
      unit: .nanoseconds
    ) {
      let files = try await corpus.files()
      return Trial(
        counting: { try Child(files.folder, [corpus.nextNumber()]).start().time },
        floor: { try Child.empty.start().time },
        lean: { try Child(lean: files.lean, [corpus.nextNumber()]).start().time },
        mostRounds: 51
      )
    }
  }

  private static func wholeProcess(_ corpus: Corpus) -> Row {
    Row(
      name: "process-end",
      title: "process start to its end, one value hydrated",
      goal: .above(6_000_000),
      floor: "the same program, which says at once that it is there",
      lean: .program("a program in C alone: open, point read"),
      unit: .nanoseconds
    ) {
      let files = try await corpus.files()
      return Trial(
        counting: { try Child(files.folder, [corpus.nextNumber()]).start().wholeTime },
        floor: { try Child.empty.start().wholeTime },
        lean: { try Child(lean: files.lean, [corpus.nextNumber()]).start().wholeTime },
        mostRounds: 51
      )
    }
  }

  private static func memory(_ corpus: Corpus) -> Row {
    Row(
      name: "memory-resident",
      title: "resident memory, 100 stores alive",
      goal: .above(40 * 1024 * 1024),
      floor: "the same program, which does nothing",
      lean: .program("a program in C alone: open, 100 point reads"),
      unit: .bytes
    ) {
      let files = try await corpus.files()
      return Trial(
        counting: { try Child(files.folder, Self.hundredNumbers(corpus)).start().residentBytes },
        floor: { try Child.empty.start().residentBytes },
        lean: {
          try Child(lean: files.lean, Self.hundredNumbers(corpus)).start().residentBytes
        },
        mostRounds: 11
      )
    }
  }
}

// MARK: - Rounds

extension OpeningRows {
  private static func hundredNumbers(_ corpus: Corpus) -> [Int] {
    (0..<100).map { _ in corpus.nextNumber() }
  }

  private static func open(_ folder: URL, _ number: Int) async throws -> Reading {
    let gauge = Gauge()
    let storage = try SQLiteQueryStorage(directory: folder)
    let client = QueryClient.withoutObservers(storage: storage)
    let value = client.noteStore(number).currentValue
    let reading = gauge.reading()
    try expect(value?.number, number, "the number of the note")
    try await storage.close()
    return reading
  }

  private static func open(
    _ number: Int, _ open: () throws -> any PlainDatabase
  ) throws -> Reading {
    let identity = try NoteQuery.identity(of: number)
    let gauge = Gauge()
    let value = try JSONDecoder().decode(Note.self, from: try open().value(at: identity))
    let reading = gauge.reading()
    try expect(value.number, number, "the number of the note")
    return reading
  }
}
