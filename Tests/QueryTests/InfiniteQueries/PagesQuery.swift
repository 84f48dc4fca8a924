import Query
import TestSupport

typealias TestPage = InfiniteQueryPage<Int, Int>
typealias TestPages = InfiniteQueryPages<Int, Int>
typealias TestPaging = InfiniteQueryPaging<Int, Int>
typealias TestPagesState = InfiniteQueryState<Int, Int>

/// An infinite query of numbers: page *n* holds 10 *n*, pages exist from the source's first to its
/// last one, and the query starts with page 1.
struct PagesQuery: InfiniteQueryRequest {
  /// One fetch of a page, for the script of a test.
  struct Call: Sendable {
    let paging: TestPaging
    let context: QueryContext
    let continuation: QueryContinuation<Int>
    /// How many pages were fetched before.
    let index: Int

    var id: Int { self.paging.pageId }
  }

  let path: QueryPath = ["pages"]
  let initialPageId = 1
  let source: PageSource
  let fetch: @Sendable (Call) async throws -> Int

  init(
    _ source: PageSource = PageSource(),
    fetch: @escaping @Sendable (Call) async throws -> Int = { $0.id * 10 }
  ) {
    self.source = source
    self.fetch = fetch
  }

  func pageId(after page: TestPage, using paging: TestPaging, in context: QueryContext) -> Int? {
    self.source.pageId(after: page, using: paging)
  }

  func pageId(before page: TestPage, using paging: TestPaging, in context: QueryContext) -> Int? {
    self.source.pageId(before: page, using: paging)
  }

  func fetchPage(
    using paging: TestPaging,
    in context: QueryContext,
    with continuation: QueryContinuation<Int>
  ) async throws -> Int {
    let index = self.source.record(paging)
    return try await self.fetch(
      Call(paging: paging, context: context, continuation: continuation, index: index)
    )
  }
}

/// Which pages there are, and what was asked of them.
final class PageSource: Sendable {
  /// A question for the page beside a page.
  struct Question: Hashable, Sendable {
    let page: TestPage
    let paging: TestPaging
  }

  private let fetches = Locked([TestPaging]())
  private let fetchCount = Counter()
  private let isRecording: Bool
  private let limits: Locked<ClosedRange<Int>>
  private let following = Locked([Int: Int?]())
  let questionsAfter = Recorder<Question>()
  let questionsBefore = Recorder<Question>()

  /// - Parameters:
  ///   - limits: The first and the last page.
  ///   - isRecording: Whether it remembers what was asked, and so holds lists of pages.
  init(_ limits: ClosedRange<Int> = -9...9, isRecording: Bool = true) {
    self.limits = Locked(limits)
    self.isRecording = isRecording
  }

  /// What was fetched so far.
  var pagings: [TestPaging] { self.fetches.withLock { $0 } }

  /// The identifiers of the pages that were fetched so far.
  var ids: [Int] { self.pagings.map(\.pageId) }

  func setLimits(_ limits: ClosedRange<Int>) { self.limits.withLock { $0 = limits } }

  func setPage(after id: Int, to next: Int?) {
    self.following.withLock { $0[id] = .some(next) }
  }

  fileprivate func record(_ paging: TestPaging) -> Int {
    if self.isRecording { self.fetches.withLock { $0.append(paging) } }
    return self.fetchCount.increment() - 1
  }

  fileprivate func pageId(after page: TestPage, using paging: TestPaging) -> Int? {
    if self.isRecording { self.questionsAfter.append(Question(page: page, paging: paging)) }
    if let next = self.following.withLock({ $0[page.id] }) { return next }
    return page.id < self.limits.withLock({ $0.upperBound }) ? page.id + 1 : nil
  }

  fileprivate func pageId(before page: TestPage, using paging: TestPaging) -> Int? {
    if self.isRecording { self.questionsBefore.append(Question(page: page, paging: paging)) }
    return page.id > self.limits.withLock({ $0.lowerBound }) ? page.id - 1 : nil
  }
}

extension PagesQuery {
  /// A store of this query that no client knows.
  func store(_ ids: ClosedRange<Int>? = nil) -> QueryStore<TestPagesState> {
    .detached(query: self, initialValue: ids.map { testPages($0) } ?? [])
  }
}

extension QueryStore where State == TestPagesState {
  /// The identifiers of the pages at hand.
  var ids: [Int] { self.currentValue.ids }

  /// Fetches the initial page and those after it, up to a number of pages.
  func load(_ count: Int) async throws {
    for _ in 0..<count { try await self.fetchNextPage() }
  }
}

/// The pages with these identifiers, as the source has them.
func testPages(_ ids: ClosedRange<Int>) -> TestPages {
  TestPages(uniqueElements: ids.map { TestPage(id: $0, value: $0 * 10) })
}

func testPages(_ pages: KeyValuePairs<Int, Int>) -> TestPages {
  TestPages(uniqueElements: pages.map { TestPage(id: $0.key, value: $0.value) })
}
