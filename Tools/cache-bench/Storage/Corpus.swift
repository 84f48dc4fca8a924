import Foundation
import Query
import QuerySQLite

/// Notes on disk, which the rows of the storage share: written by a storage when the first row
/// needs them, and copied once for the floors that write, and once for lean programs.
actor Corpus {
  /// How many notes there are.
  nonisolated let count: Int

  private var made: Files?
  private let last = Locked((edition: 0, place: 0, new: 0))

  /// The folders of the notes.
  struct Files {
    /// The folder of the storage.
    let folder: URL
    /// A copy of its database for floors that write.
    let bare: String
    /// The same notes in the tables of a ``LeanDatabase``.
    let lean: String

    /// The database of the storage.
    var cache: String { Corpus.cache(in: self.folder) }
  }

  init(count: Int) { self.count = count }

  /// The number at a place of the order that rows go by, which is neither that of the numbers nor
  /// that on disk. Places may go on beyond the count, from the beginning.
  nonisolated func number(at place: Int) -> Int { place * 6101 % self.count }

  /// An unused edition of the notes: its bytes differ from those on disk.
  nonisolated func nextEdition() -> Int {
    self.last.withLock { last in
      last.edition += 1
      return last.edition
    }
  }

  /// The number of any note, another one each time.
  nonisolated func nextNumber() -> Int {
    self.number(
      at: self.last.withLock { last in
        last.place += 1
        return last.place
      })
  }

  /// Numbers that no note has.
  nonisolated func newNumbers(_ count: Int) -> [Int] {
    self.last.withLock { last in
      defer { last.new += count }
      return (0..<count).map { self.count + last.new + $0 }
    }
  }

  /// The files. No other row asks for them while they are made: rows are measured one after
  /// another.
  func files() async throws -> Files {
    if let made { return made }
    let folder = try Scratch.makeFolder("storage-\(self.count)")
    try await self.write(into: folder)
    let bare = Self.cache(in: try Scratch.makeFolder("bare-\(self.count)"))
    try FileManager.default.copyItem(atPath: Self.cache(in: folder), toPath: bare)
    let lean = try Scratch.makeFolder("lean-\(self.count)").appending(path: "lean.sqlite").path
    try LeanDatabase.copy(of: Self.cache(in: folder), to: lean)
    let files = Files(folder: folder, bare: bare, lean: lean)
    self.made = files
    return files
  }

  private static func cache(in folder: URL) -> String {
    folder.appendingPathComponent("cache.sqlite").path
  }

  private func write(into folder: URL) async throws {
    let storage = try Self.open(folder)
    let client = QueryClient.withoutObservers(storage: storage)
    let batch = 10_000
    for start in stride(from: 0, to: self.count, by: batch) {
      // Not in the order of their numbers, so that no folder's notes are side by side.
      for place in start..<min(start + batch, self.count) {
        let number = place * 7919 % self.count
        client.noteStore(number).currentValue = Note(number, edition: 0)
      }
      try await storage.flush()
      client.clearStores()
    }
    try expect(storage.statistics.entries, self.count, "the entries on disk")
    let bytes = try JSONEncoder().encode(Note(0, edition: 0)).count
    try expect(bytes, Note.byteCount, "the bytes of a note")
    try await storage.close()
  }

  /// Opens a storage as applications have it, but that it has room for more entries.
  static func open(_ folder: URL) throws -> SQLiteQueryStorage {
    var configuration = SQLiteQueryStorage.Configuration()
    configuration.maximumEntries = 1_000_000
    configuration.maximumBytes = 1 << 30
    return try SQLiteQueryStorage(directory: folder, configuration: configuration)
  }
}
