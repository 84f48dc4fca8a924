/// The pages that a refetch of all pages has fetched so far, kept from one attempt to the next.
@usableFromInline
final class AllPagesTracker<PageID: Hashable & Sendable, PageValue: Sendable>: Sendable {
  @usableFromInline typealias Pages = InfiniteQueryPages<PageID, PageValue>

  /// Guarded by the mutex.
  @usableFromInline
  struct Progress: Sendable {
    /// The page to start with, and the last page that was loaded, when the first attempt began, and how
    /// many are fetched at most.
    @usableFromInline let firstPageId: PageID?
    @usableFromInline let lastPageId: PageID?
    @usableFromInline let pageCount: Int
    @usableFromInline var pages = Pages()

    @inlinable
    init(loadedPages: Pages, keeping limit: Int) {
      self.firstPageId = loadedPages.first?.id
      self.lastPageId = loadedPages.last?.id
      self.pageCount = min(loadedPages.count, limit)
    }

    /// Whether as many pages were fetched as are wanted.
    @inlinable
    var isFull: Bool { self.pages.count >= self.pageCount }
  }

  @usableFromInline let progress = Locked<Progress?>(nil)

  @inlinable
  init() {}

  /// The progress of the attempts so far; the first one starts with the pages that are loaded.
  @inlinable
  func progress(startingWith loadedPages: Pages, keeping limit: Int) -> Progress {
    self.progress.withLock { progress in
      if let progress { return progress }
      let new = Progress(loadedPages: loadedPages, keeping: limit)
      progress = new
      return new
    }
  }

  /// Ends the fetch: the next one with this tracker, of a modifier that fetches twice, begins anew.
  ///
  /// - Returns: The progress with all pages that were fetched.
  @inlinable
  func finish(startingWith loadedPages: Pages, keeping limit: Int) -> Progress {
    self.progress.withLock { progress in
      defer { progress = nil }
      return progress ?? Progress(loadedPages: loadedPages, keeping: limit)
    }
  }

  /// Adds a fetched page. The progress is not copied unless another owner holds it.
  @inlinable
  func add(_ page: InfiniteQueryPage<PageID, PageValue>) {
    self.progress.withLock { progress in
      // An attempt that was abandoned may still deliver a page of the next one.
      progress?.pages[id: page.id] = page
    }
  }
}
