public import Synchronization

/// The pages that a refetch of all pages has fetched so far, kept from one attempt to the next.
@usableFromInline
final class AllPagesTracker<PageID: Hashable & Sendable, PageValue: Sendable>: Sendable {
  @usableFromInline
  struct Progress: Sendable {
    /// The page to start with, and how many pages were loaded, when the first attempt began.
    @usableFromInline let firstPageId: PageID?
    @usableFromInline let pageCount: Int
    @usableFromInline var pages = InfiniteQueryPages<PageID, PageValue>()
    @usableFromInline var lastPaging: InfiniteQueryPaging<PageID, PageValue>?

    @inlinable
    init(pages: InfiniteQueryPages<PageID, PageValue>) {
      self.firstPageId = pages.first?.id
      self.pageCount = pages.count
    }

    @inlinable
    mutating func add(
      _ page: InfiniteQueryPage<PageID, PageValue>,
      fetchedFor paging: InfiniteQueryPaging<PageID, PageValue>
    ) {
      self.pages.append(page)
      // Only its identifier is asked for later, and its pages would double what is held.
      self.lastPaging = InfiniteQueryPaging(
        pageId: paging.pageId,
        pages: [],
        request: paging.request
      )
    }
  }

  @usableFromInline let progress = Mutex<Progress?>(nil)

  @inlinable
  init() {}

  @inlinable
  func begin(with pages: InfiniteQueryPages<PageID, PageValue>) -> Progress {
    self.progress.withLock { progress in
      if let progress { return progress }
      let new = Progress(pages: pages)
      progress = new
      return new
    }
  }

  @inlinable
  func record(_ newProgress: Progress) {
    self.progress.withLock { $0 = newProgress }
  }
}
