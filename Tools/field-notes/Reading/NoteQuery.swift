import Query

/// One note.
struct NoteQuery: QueryRequest {
  let id: String

  var path: QueryPath { ["notes", "note", self.id] }

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Note>
  ) async throws -> Note {
    try await context.notesServer.get(["notes", self.id], in: context)
  }
}
