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
      unit: .nanoseconds
    ) {
      let files = try await corpus.files()
      return Trial(
        figure: {
          try await Self.open(files.folder, corpus.nextNumber())
        },
        floor: {
          let number = corpus.nextNumber()
          return try Self.openBare(files.cache, number)
        }
      )
    }
  }

  private static func process(_ corpus: Corpus) -> Row {
    Row(
      name: "process-first-value",
      title: "process start to first hydrated value",
      goal: .above(3_000_000),
      floor: "the same program, which says at once that it is there",
      unit: .nanoseconds
    ) {
      let folder = try await corpus.files().folder
      return Trial(
        figure: { try Child(folder: folder, numbers: [corpus.nextNumber()]).start().time },
        floor: { try Child.empty.start().time },
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
      unit: .nanoseconds
    ) {
      let folder = try await corpus.files().folder
      return Trial(
        figure: { try Child(folder: folder, numbers: [corpus.nextNumber()]).start().wholeTime },
        floor: { try Child.empty.start().wholeTime },
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
      unit: .bytes
    ) {
      let folder = try await corpus.files().folder
      return Trial(
        figure: {
          let numbers = (0..<100).map { _ in corpus.nextNumber() }
          return Double(try Child(folder: folder, numbers: numbers).start().residentBytes)
        },
        floor: { Double(try Child.empty.start().residentBytes) },
        mostRounds: 11
      )
    }
  }
}

// MARK: - Rounds

extension OpeningRows {
  private static func open(_ folder: URL, _ number: Int) async throws -> Double {
    let watch = Stopwatch()
    let storage = try SQLiteQueryStorage(directory: folder)
    let client = QueryClient.withoutObservers(storage: storage)
    let value = client.noteStore(number).currentValue
    let time = watch.nanoseconds()
    try expect(value?.number, number, "the number of the note")
    try await storage.close()
    return time
  }

  private static func openBare(_ path: String, _ number: Int) throws -> Double {
    let identity = try NoteQuery.identity(of: number)
    let watch = Stopwatch()
    let bare = try BareDatabase(path: path)
    let value = try JSONDecoder().decode(Note.self, from: try bare.value(at: identity))
    let time = watch.nanoseconds()
    try expect(value.number, number, "the number of the note")
    return time
  }
}
