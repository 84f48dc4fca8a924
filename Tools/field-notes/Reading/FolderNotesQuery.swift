import Query

/// The notes of a folder, a page at a time. On disk each page is a row of its own: to fetch the tenth
/// writes none of the nine before it.
struct FolderNotesQuery: InfiniteQueryRequest {
  let folder: String

  var path: QueryPath { ["notes", "folder", self.folder] }

  /// A page is called by what it comes after; the first one comes after nothing.
  var initialPageId: String { "" }

  func pageId(
    after page: InfiniteQueryPage<String, NotePage>,
    using paging: InfiniteQueryPaging<String, NotePage>,
    in context: QueryContext
  ) -> String? {
    page.value.next
  }

  func fetchPage(
    using paging: InfiniteQueryPaging<String, NotePage>,
    in context: QueryContext,
    with continuation: QueryContinuation<NotePage>
  ) async throws -> NotePage {
    try await context.notesServer.get(["folders", self.folder, "notes"], after: paging.pageId)
  }
}
