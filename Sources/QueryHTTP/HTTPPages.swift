public import Foundation
public import Query

/// A list that is read page by page, each with a validator of its own: in a refetch of all pages, those
/// that have not changed cost only headers.
///
/// ```swift
/// let notes = HTTPPages(
///   notesURL, first: 1, as: NotesPage.self,
///   url: { notesURL.appending(queryItems: [URLQueryItem(name: "page", value: "\($0)")]) },
///   next: { number, page in page.isLast ? nil : number + 1 })
/// let store = client.store(for: notes.persisted())
/// ```
/// Each page is read as ``HTTPQuery`` reads its URL. The path is that of an ``HTTPQuery`` of the list's URL,
/// followed by `"pages"`. If one page says `no-store`, the list is not stored; if one is gone, the list is
/// reset if ``init(_:first:headers:credential:as:policy:removesOnGone:expects:url:next:previous:)`` says so.
public struct HTTPPages<PageID, PageValue>: InfiniteQueryRequest
where PageID: Codable & Hashable & Sendable, PageValue: Codable & Sendable {
  public let initialPageId: PageID
  /// Whether it can be made from data alone, without closures.
  public let isPackable: Bool

  private let list: HTTPRead
  private let url: @Sendable (PageID) -> URL
  private let next: @Sendable (PageID, PageValue) -> PageID?
  private let previous: @Sendable (PageID, PageValue) -> PageID?

  /// Creates a query.
  ///
  /// - Parameters:
  ///   - list: The URL of the list, which is its identity. It must differ from that of every other list.
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
    self.isPackable = false
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

// MARK: - Of pages that say which one follows

extension HTTPPages where PageValue: HTTPPage, PageValue.PageID == PageID {
  /// Creates a query of pages that say by themselves which one follows.
  ///
  /// It is a member of a pack with its number of pages, and a later launch goes on with it if its type is
  /// registered: `client.packs.register(HTTPPages<Int, NotesPage>.self)`.
  ///
  /// - Parameters:
  ///   - list: The URL of the list, which is its identity.
  ///   - headers: As of ``HTTPQuery``.
  ///   - credential: As of ``HTTPQuery``.
  ///   - type: What a page is.
  ///   - policy: As of ``HTTPQuery``; the list is as fresh as its oldest page.
  ///   - removesOnGone: Whether status 404 or 410 for a page resets the store.
  ///   - expects: As of ``HTTPQuery``.
  public init(
    _ list: URL,
    headers: [String: String] = [:],
    credential: HTTPCredential.Name? = nil,
    as type: PageValue.Type = PageValue.self,
    policy: HTTPCachePolicy = .validators,
    removesOnGone: Bool = false,
    expects: HTTPExpectation? = nil
  ) {
    self.init(
      HTTPRead(
        url: list.absoluteURL, headers: headers, credential: credential, policy: policy,
        removesOnGone: removesOnGone, expects: expects))
  }

  private init(_ list: HTTPRead) {
    self.list = list
    self.initialPageId = PageValue.firstPageID
    self.isPackable = true
    self.url = { PageValue.url(of: $0, in: list.url) }
    self.next = { id, page in page.pageID(after: id) }
    self.previous = { id, page in page.pageID(before: id) }
  }
}

extension HTTPPages: PackableRequest, Codable
where PageValue: HTTPPage, PageValue.PageID == PageID {
  public static var packName: String { PackName.of("HTTPPages", PageValue.self) }

  /// Reads a query that ``encode(to:)`` wrote.
  ///
  /// - Throws: ``HTTPRequestError``; `DecodingError`.
  public init(from decoder: any Decoder) throws { self.init(try HTTPRead(from: decoder)) }

  /// Writes what it is made of: no secret. Of one that is not ``isPackable`` the closures are missing.
  ///
  /// - Throws: ``HTTPRequestError`` if the URL or a header may hold a secret; `EncodingError`.
  public func encode(to encoder: any Encoder) throws { try self.list.encode(to: encoder) }
}
