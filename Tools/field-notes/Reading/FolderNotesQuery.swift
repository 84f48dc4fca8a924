import Query
import QueryHTTP

/// The notes of a folder, a page at a time. On disk each page is a row of its own: fetching the
/// tenth does not rewrite the nine before it. Each page has a validator of its own, so that a refetch
/// transfers only the pages that have changed.
struct FolderNotesQuery: PackableRequest, InfiniteQueryRequest {
  static let packName = "folder"

  let folder: String

  var path: QueryPath { ["notes", "folder", self.folder] }

  /// A page's id is the cursor it comes after; the first page comes after nothing.
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
    try await context.notesServer.read(["folders", self.folder, "notes"], after: paging.pageId)
      .fetch(in: context, with: continuation)
  }
}
