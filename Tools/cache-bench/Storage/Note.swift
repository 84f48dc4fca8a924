import Foundation
import Query

/// A value that is 1 KB as JSON, whatever its number.
struct Note: Codable, Hashable, Sendable {
  let id: Int
  let title: String
  let body: String

  /// The bytes of a note as JSON.
  static let byteCount = 1024

  private static let prose = String(
    repeating: "What is known of a query on one launch is there on the next one, offline. ",
    count: 14)
  private static let bodyCount =
    Self.byteCount - ((try? JSONEncoder().encode(Note(0, edition: 0, bodyCount: 0)).count) ?? 0)

  /// Makes one note for each number, and another one for each edition.
  init(_ number: Int, edition: Int) {
    self.init(number, edition: edition, bodyCount: Self.bodyCount)
  }

  private init(_ number: Int, edition: Int, bodyCount: Int) {
    // So many digits each time.
    self.id = Self.offset + number
    self.title = "Note \(self.id), edition \(Self.offset + edition)"
    self.body = String("\(self.title): \(Self.prose)".utf8.prefix(bodyCount)) ?? ""
  }

  /// What it was made of.
  var number: Int { self.id - Self.offset }

  /// What else it was made of.
  var edition: Int { (Int(self.title.suffix(7)) ?? 0) - Self.offset }

  /// What makes all numbers as long.
  static let offset = 1_000_000
}

/// The query of a note. Ten thousand of them are a folder.
struct NoteQuery: QueryRequest {
  let number: Int

  static let folderCount = 10_000

  var path: QueryPath { ["notes", self.number / Self.folderCount, self.number] }

  /// The text that a note is stored under.
  static func identity(of number: Int) throws -> String {
    try QueryIdentity(path: Self(number: number).path).text
  }

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Note>
  ) async throws -> Note { Note(self.number, edition: 0) }
}

/// An endless list of notes, one on each page.
struct NotePages: InfiniteQueryRequest, Hashable {
  let list: Int
  let initialPageId = 0

  var path: QueryPath { ["pages", self.list] }

  func pageId(
    after page: InfiniteQueryPage<Int, Note>,
    using paging: InfiniteQueryPaging<Int, Note>,
    in context: QueryContext
  ) -> Int? { page.id + 1 }

  func fetchPage(
    using paging: InfiniteQueryPaging<Int, Note>,
    in context: QueryContext,
    with continuation: QueryContinuation<Note>
  ) async throws -> Note { Note(paging.pageId, edition: self.list) }
}

/// A store of a persisted note.
typealias NoteStore = QueryStore<NoteQuery.State>

extension QueryClient {
  /// The store of a note that is kept on disk.
  func noteStore(_ number: Int) -> NoteStore {
    self.store(for: NoteQuery(number: number).persisted())
  }
}
