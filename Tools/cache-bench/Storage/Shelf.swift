import Foundation
import Query
import QuerySQLite

/// The notes of a ``Corpus``, as one row has them: through a client and its storage, and through C.
// @unchecked: the rounds of a row run one after another, and one at a time uses the variables.
final class Shelf: @unchecked Sendable {
  let corpus: Corpus
  let storage: SQLiteQueryStorage
  let client: QueryClient

  /// Plain C on the storage's own file for reads, or on the copy for writes.
  let bare: BareDatabase

  private let hashes: [Int: [UInt8]]
  private var places = (figure: 0, floor: 0)

  /// What C does with the notes.
  enum Use {
    case reading
    case writing
  }

  init(_ corpus: Corpus, _ use: Use) async throws {
    let files = try await corpus.files()
    self.corpus = corpus
    self.storage = try Corpus.open(files.folder)
    self.client = .withoutObservers(storage: self.storage)
    switch use {
    case .reading: self.bare = try BareDatabase(path: files.cache)
    case .writing: self.bare = try BareDatabase(path: files.bare)
    }
    self.hashes = try self.bare.hashes()
  }

  /// Closes the storage.
  func close() async throws {
    self.client.clearStores()
    try await self.storage.close()
  }

  /// The numbers of the next notes, other ones in each round of the figure.
  func nextNumbers(_ count: Int) -> [Int] {
    defer { self.places.figure += count }
    return (self.places.figure..<self.places.figure + count).map(self.corpus.number)
  }

  /// The numbers of the next notes, the same for the floor as for the figure.
  func nextFloorNumbers(_ count: Int) -> [Int] {
    defer { self.places.floor += count }
    return (self.places.floor..<self.places.floor + count).map(self.corpus.number)
  }

  private func hashes(of numbers: [Int]) -> [[UInt8]] { numbers.compactMap { self.hashes[$0] } }

  /// A new edition of the next notes, for C to write.
  func nextFloorEntries(_ count: Int) throws -> [BareEntry] {
    let numbers = self.nextFloorNumbers(count)
    return try self.entries(numbers, self.hashes(of: numbers))
  }

  /// Lets C write the next notes, each in its own transaction.
  ///
  /// - Returns: The nanoseconds of one.
  func writeOneByOne(_ count: Int) throws -> Double {
    let entries = try self.nextFloorEntries(count)
    let watch = Stopwatch()
    for entry in entries { try self.bare.transaction { try self.bare.write(entry) } }
    let time = watch.nanoseconds(per: entries.count)
    try self.check(entries)
    return time
  }

  /// Notes not on disk yet, for C to write.
  func newFloorEntries(_ count: Int) throws -> [BareEntry] {
    let hashes = (0..<count).map { _ in (0..<16).map { _ in UInt8.random(in: 0...255) } }
    return try self.entries(self.corpus.newNumbers(count), hashes)
  }

  private func entries(_ numbers: [Int], _ hashes: [[UInt8]]) throws -> [BareEntry] {
    let encoder = JSONEncoder()
    let edition = self.corpus.nextEdition()
    return try zip(numbers, hashes).map { number, hash in
      BareEntry(
        hash: hash, identity: try NoteQuery.identity(of: number),
        value: try encoder.encode(Note(number, edition: edition)))
    }
  }

  /// Checks that notes are on disk, as a new store reads them.
  func check(_ notes: some Sequence<Note>) throws {
    let client = QueryClient.withoutObservers(storage: self.storage)
    for note in notes {
      try expect(client.noteStore(note.number).currentValue, note, "a note on disk")
    }
  }

  /// Checks that entries are on disk, as C reads them.
  func check(_ entries: some Sequence<BareEntry>) throws {
    for entry in entries {
      try expect(try self.bare.value(at: entry.identity), entry.value, "the bytes on disk")
    }
  }
}
