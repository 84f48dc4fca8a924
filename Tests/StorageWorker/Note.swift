import Query

/// What the processes of the tests keep.
struct Note: Codable, Sendable {
  var text: String
}

struct NoteQuery: QueryRequest, Hashable {
  let writer: String
  let number: Int

  var path: QueryPath { ["notes", self.writer, self.number] }

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Note>
  ) async throws -> Note {
    throw CancellationError()
  }
}

/// A text as the tests of the storage keep it.
struct TextQuery: QueryRequest, Hashable {
  let name: String

  var path: QueryPath { ["texts", self.name] }

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<String>
  ) async throws -> String {
    "fetched"
  }
}

extension Note {
  /// The text that a writer gives a note, so that a reader can tell whether it is whole.
  static func text(writer: String, number: Int, round: Int, length: Int) -> String {
    let head = "\(writer)/\(number)/\(round) "
    return head + String(repeating: "x", count: max(length - head.count, 0))
  }
}
