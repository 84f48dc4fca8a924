/// The pages that a refetch of all pages has fetched so far, kept from one attempt to the next.
@usableFromInline
final class AllPagesTracker<PageID: Hashable & Sendable, PageValue: Sendable>: Sendable {
  @usableFromInline typealias Pages = InfiniteQueryPages<PageID, PageValue>

  /// Guarded by the mutex.
  @usableFromInline
  struct Progress: Sendable {
    /// The page to start with, and how many pages were loaded, when the first attempt began.
    @usableFromInline let firstPageId: PageID?
    @usableFromInline let pageCount: Int
    @usableFromInline var pages = Pages()

    @inlinable
    init(loadedPages: Pages) {
      self.firstPageId = loadedPages.first?.id
      self.pageCount = loadedPages.count
    }

    /// Whether as many pages were fetched as were loaded.
    @inlinable
    var isFull: Bool { self.pages.count >= self.pageCount }
  }

  @usableFromInline let progress = Locked<Progress?>(nil)

  @inlinable
  init() {}

  /// The progress of the attempts so far; the first one starts with the pages that are loaded.
  @inlinable
  func progress(startingWith loadedPages: Pages) -> Progress {
    self.progress.withLock { progress in
      if let progress { return progress }
      let new = Progress(loadedPages: loadedPages)
      progress = new
      return new
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
