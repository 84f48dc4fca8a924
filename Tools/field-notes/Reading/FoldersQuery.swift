import Query
import QueryHTTP

/// All folders.
struct FoldersQuery: QueryRequest {
  // Everything of this program is under "notes", so that one prefix finds it all.
  var path: QueryPath { ["notes", "folders"] }

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<[Folder]>
  ) async throws -> [Folder] {
    try await context.notesServer.read(["folders"]).fetch(in: context, with: continuation)
  }
}
