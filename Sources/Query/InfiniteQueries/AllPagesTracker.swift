import Synchronization

/// The pages that a refetch of all pages has fetched so far, kept from one attempt to the next.
final class AllPagesTracker<PageID: Hashable & Sendable, PageValue: Sendable>: Sendable {
  struct Progress: Sendable {
    /// The page to start with, and how many pages were loaded, when the first attempt began.
    let firstPageId: PageID?
    let pageCount: Int
    private(set) var pages = InfiniteQueryPages<PageID, PageValue>()
    private(set) var lastPaging: InfiniteQueryPaging<PageID, PageValue>?

    init(pages: InfiniteQueryPages<PageID, PageValue>) {
      self.firstPageId = pages.first?.id
      self.pageCount = pages.count
    }

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

  private let progress = Mutex<Progress?>(nil)

  init() {}

  func begin(with pages: InfiniteQueryPages<PageID, PageValue>) -> Progress {
    self.progress.withLock { progress in
      if let progress { return progress }
      let new = Progress(pages: pages)
      progress = new
      return new
    }
  }

  func record(_ newProgress: Progress) {
    self.progress.withLock { $0 = newProgress }
  }
}
