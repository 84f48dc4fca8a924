import Foundation
import Query
import QuerySQLite

/// What a caller waits for while the storage evicts.
enum EvictionRows {
  static func all(_ corpus: Corpus) -> [Row] { [Self.flush(corpus)] }

  private static func flush(_ corpus: Corpus) -> Row {
    Row(
      name: "flush-evicting",
      title: "worst flush() of one change while a tenth of \(corpus.count) is evicted",
      goal: .atMost(20_000_000),
      floor: "worst of as many C upserts, each in its own transaction",
      lean: .program("the same of rows with one index"),
      unit: .nanoseconds
    ) {
      let files = try await corpus.files()
      let folder = try Scratch.makeFolder("evicting")
      try FileManager.default.copyItem(
        atPath: files.cache, toPath: folder.appendingPathComponent("cache.sqlite").path)
      let limit = try await Self.entries(in: folder)
      let shelf = try await Shelf(corpus, .writing)
      let flushes = Locked(100)
      return Trial(
        counting: {
          let (worst, count) = try await Self.worstFlush(folder, limit, corpus)
          flushes.withLock { $0 = count }
          return worst
        },
        floor: { try Self.worstWrite(of: flushes.withLock { $0 }, shelf, .floor) },
        lean: { try Self.worstWrite(of: flushes.withLock { $0 }, shelf, .lean) },
        mostRounds: 3,
        end: { try await shelf.close() }
      )
    }
  }

  private static func worstWrite(
    of count: Int, _ shelf: Shelf, _ program: PlainProgram
  ) throws -> Reading {
    let entries = try shelf.nextEntries(count, for: program)
    let database = shelf.database(program)
    let gauge = Gauge()
    var worst = 0.0
    for entry in entries {
      let watch = Stopwatch()
      try database.transaction { try database.write(entry) }
      worst = max(worst, watch.nanoseconds())
    }
    return gauge.reading(of: worst, per: count)
  }

  /// How many there are: other rows have added some.
  private static func entries(in folder: URL) async throws -> Int {
    let storage = try SQLiteQueryStorage(directory: folder, configuration: Self.unlimited)
    let count = storage.statistics.entries
    try await storage.close()
    return count
  }

  private static var unlimited: SQLiteQueryStorage.Configuration {
    var configuration = SQLiteQueryStorage.Configuration()
    configuration.maximumEntries = .max
    configuration.maximumBytes = 1 << 40
    return configuration
  }

  /// Fills the storage to its limit, goes beyond it, and changes one entry again and again until a tenth
  /// is gone.
  @concurrent
  private static func worstFlush(
    _ folder: URL, _ limit: Int, _ corpus: Corpus
  ) async throws -> (worst: Reading, count: Int) {
    var configuration = Self.unlimited
    configuration.maximumEntries = limit
    let storage = try SQLiteQueryStorage(directory: folder, configuration: configuration)
    let client = QueryClient.withoutObservers(storage: storage)
    let missing = limit - storage.statistics.entries
    for number in corpus.newNumbers(missing) {
      client.noteStore(number).currentValue = Note(number, edition: corpus.nextEdition())
    }
    try await storage.flush()
    client.clearStores()
    try expect(storage.statistics.entries, limit, "the entries on disk")
    let number = corpus.newNumbers(1)[0]
    let store = client.noteStore(number)
    var (worst, count) = (0.0, 0)
    let gauge = Gauge()
    while count < 10 || storage.statistics.entries > limit - limit / 10 {
      store.currentValue = Note(number, edition: corpus.nextEdition() % 1_000_000)
      let watch = Stopwatch()
      try await storage.flush()
      worst = max(worst, watch.nanoseconds())
      count += 1
    }
    let reading = gauge.reading(of: worst, per: count)
    try await storage.close()
    return (reading, count)
  }
}
