import Query
import QueryHTTP

/// One note.
struct NoteQuery: QueryRequest {
  let id: String

  var path: QueryPath { ["notes", "note", self.id] }

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Note>
  ) async throws -> Note {
    try await context.notesServer.read(["notes", self.id])
      .fetch(in: context, with: continuation)
  }
}
