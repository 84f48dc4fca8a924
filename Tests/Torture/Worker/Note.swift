import Query

/// A value of the bench: a reader can tell whether it is whole, and how new it is.
struct Note: Codable, Sendable {
  var text: String

  init(writer: String, number: Int, version: Int, length: Int) {
    let head = "\(writer)/\(number)/\(version)/\(length) "
    self.text = head + String(repeating: "x", count: length)
  }

  /// Its version; nil if it is not a whole note of this place.
  func version(writer: String, number: Int) -> Int? {
    let parts = self.text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    let fields = parts.first?.split(separator: "/").map(String.init) ?? []
    guard parts.count == 2, fields.count == 4, fields[0] == writer, Int(fields[1]) == number,
      Int(fields[3]) == parts[1].utf8.count
    else { return nil }
    return Int(fields[2])
  }
}

/// The query of a note, which nothing fetches.
struct NoteQuery: QueryRequest, Hashable {
  /// How many notes each writer has.
  static let count = 100

  let writer: String
  let number: Int

  /// What it is called in the logs.
  var name: String { "\(self.writer)-\(self.number)" }

  var path: QueryPath { ["notes", self.writer, self.number] }

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Note>
  ) async throws -> Note {
    throw CancellationError()
  }
}
