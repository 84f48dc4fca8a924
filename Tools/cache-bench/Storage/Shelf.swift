import Foundation
import Query
import QuerySQLite

/// The notes of a ``Corpus``, as one row has them: through a client and its storage, and through C.
// @unchecked: the rounds of a row run one after another, and one at a time uses the variables.
final class Shelf: @unchecked Sendable {
  let corpus: Corpus
  let storage: SQLiteQueryStorage
  let client: QueryClient

  /// On the storage's own file for reads, or on the copy for writes.
  private let bare: BareDatabase
  private let lean: LeanDatabase

  private let hashes: [Int: [UInt8]]
  private var place = 0
  private var programPlaces = [PlainProgram: Int]()

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
    self.lean = try LeanDatabase(path: files.lean)
    self.hashes = try self.bare.hashes()
  }

  /// The database of a plain C program.
  func database(_ program: PlainProgram) -> any PlainDatabase {
    switch program {
    case .floor: self.bare
    case .lean: self.lean
    }
  }

  /// Closes the storage.
  func close() async throws {
    self.client.clearStores()
    try await self.storage.close()
  }

  /// The numbers of the next notes, other ones in each round of the figure.
  func nextNumbers(_ count: Int) -> [Int] {
    defer { self.place += count }
    return (self.place..<self.place + count).map(self.corpus.number)
  }

  /// The numbers of the next notes, the same for a program as for the figure.
  func nextNumbers(_ count: Int, for program: PlainProgram) -> [Int] {
    let place = self.programPlaces[program, default: 0]
    self.programPlaces[program] = place + count
    return (place..<place + count).map(self.corpus.number)
  }

  /// A new edition of the next notes, for C to write.
  func nextEntries(_ count: Int, for program: PlainProgram) throws -> [BareEntry] {
    let numbers = self.nextNumbers(count, for: program)
    return try self.entries(numbers, numbers.compactMap { self.hashes[$0] })
  }

  /// Notes not on disk yet, for C to write.
  func newEntries(_ count: Int) throws -> [BareEntry] {
    let hashes = (0..<count).map { _ in (0..<16).map { _ in UInt8.random(in: 0...255) } }
    return try self.entries(self.corpus.newNumbers(count), hashes)
  }

  /// Lets C write the next notes, each in its own transaction.
  ///
  /// - Returns: What one takes.
  func writeOneByOne(_ count: Int, by program: PlainProgram) throws -> Reading {
    let entries = try self.nextEntries(count, for: program)
    let database = self.database(program)
    let gauge = Gauge()
    for entry in entries { try database.transaction { try database.write(entry) } }
    let reading = gauge.reading(per: entries.count)
    try self.check(entries, in: program)
    return reading
  }

  /// Lets C write entries, in transactions of a thousand.
  ///
  /// - Returns: What one takes.
  func writeThousands(
    _ count: Int, by program: PlainProgram, _ next: () throws -> [BareEntry]
  ) throws -> Reading {
    let database = self.database(program)
    var sum = Reading.zero
    for _ in 0..<count / 1_000 {
      let entries = try next()
      let gauge = Gauge()
      try database.transaction { for entry in entries { try database.write(entry) } }
      sum += gauge.reading()
      try self.check(entries.prefix(1), in: program)
    }
    return sum / count
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
  func check(_ entries: some Sequence<BareEntry>, in program: PlainProgram) throws {
    let database = self.database(program)
    for entry in entries {
      try expect(try database.value(at: entry.identity), entry.value, "the bytes on disk")
    }
  }
}
