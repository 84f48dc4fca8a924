public import Foundation
public import Query

/// A list that is read page by page, each with a validator of its own: a refetch of all pages sends the
/// headers of those that have not changed, and the bodies of the others.
///
/// ```swift
/// let notes = HTTPPages(
///   notesURL, first: 1, as: NotesPage.self,
///   url: { notesURL.appending(queryItems: [URLQueryItem(name: "page", value: "\($0)")]) },
///   next: { number, page in page.isLast ? nil : number + 1 })
/// let store = client.store(for: notes.persisted())
/// ```
/// Each page is read as ``HTTPQuery`` reads its URL. The path is that of the query of the list's URL, and
/// `"pages"`. One page with `no-store` keeps the list from being stored, and one that is gone resets it
/// if ``init(_:first:headers:credential:as:policy:removesOnGone:expects:url:next:previous:)`` says so.
public struct HTTPPages<PageID, PageValue>: InfiniteQueryRequest
where PageID: Codable & Hashable & Sendable, PageValue: Codable & Sendable {
  public let initialPageId: PageID

  private let list: HTTPRead
  private let url: @Sendable (PageID) -> URL
  private let next: @Sendable (PageID, PageValue) -> PageID?
  private let previous: @Sendable (PageID, PageValue) -> PageID?

  /// Creates a query.
  ///
  /// - Parameters:
  ///   - list: The URL of the list, which is its identity: all that tells one list from another.
  ///   - first: The page that it starts with.
  ///   - headers: As of ``HTTPQuery``.
  ///   - credential: As of ``HTTPQuery``.
  ///   - type: What a page is.
  ///   - policy: As of ``HTTPQuery``; the list is as fresh as its oldest page.
  ///   - removesOnGone: Whether status 404 or 410 for a page resets the store.
  ///   - expects: As of ``HTTPQuery``.
  ///   - url: The URL of a page.
  ///   - next: The page after a page; nil if it is the last one.
  ///   - previous: The page before a page; nil if it is the first one.
  public init(
    _ list: URL,
    first: PageID,
    headers: [String: String] = [:],
    credential: HTTPCredential.Name? = nil,
    as type: PageValue.Type = PageValue.self,
    policy: HTTPCachePolicy = .validators,
    removesOnGone: Bool = false,
    expects: HTTPExpectation? = nil,
    url: @escaping @Sendable (PageID) -> URL,
    next: @escaping @Sendable (PageID, PageValue) -> PageID?,
    previous: @escaping @Sendable (PageID, PageValue) -> PageID? = { _, _ in nil }
  ) {
    self.list = HTTPRead(
      url: list.absoluteURL, headers: headers, credential: credential, policy: policy,
      removesOnGone: removesOnGone, expects: expects)
    self.initialPageId = first
    self.url = url
    self.next = next
    self.previous = previous
  }

  public var path: QueryPath { self.list.path.appending("pages") }

  public func pageId(
    after page: InfiniteQueryPage<PageID, PageValue>,
    using paging: InfiniteQueryPaging<PageID, PageValue>,
    in context: QueryContext
  ) -> PageID? { self.next(page.id, page.value) }

  public func pageId(
    before page: InfiniteQueryPage<PageID, PageValue>,
    using paging: InfiniteQueryPaging<PageID, PageValue>,
    in context: QueryContext
  ) -> PageID? { self.previous(page.id, page.value) }

  /// Asks the server for a page.
  ///
  /// - Throws: As ``HTTPQuery/fetch(in:with:)``.
  public func fetchPage(
    using paging: InfiniteQueryPaging<PageID, PageValue>,
    in context: QueryContext,
    with continuation: QueryContinuation<PageValue>
  ) async throws -> PageValue {
    var read = self.list
    read.url = self.url(paging.pageId).absoluteURL
    return try await read.fetch(in: context, with: continuation)
  }
}
