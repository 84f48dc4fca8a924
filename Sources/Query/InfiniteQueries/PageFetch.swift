public import Synchronization

/// The fetch of one page, and the events that tell of it.
@usableFromInline
final class PageFetch<Query: InfiniteQueryRequest>: Sendable {
  @usableFromInline typealias Page = InfiniteQueryPage<Query.PageID, Query.PageValue>
  @usableFromInline typealias Paging = InfiniteQueryPaging<Query.PageID, Query.PageValue>
  @usableFromInline typealias Value = InfiniteQueryValue<Query.PageID, Query.PageValue>
  @usableFromInline typealias Event = InfiniteQueryPageEvent<Query.PageID, Query.PageValue>

  @usableFromInline let query: Query
  @usableFromInline let paging: Paging
  @usableFromInline let context: QueryContext
  @usableFromInline let isFinished = Atomic(false)
  /// Whether the attempt that it is a part of still counts; nil: it does until the fetch ends.
  @usableFromInline let isOpen: (@Sendable () -> Bool)?

  @inlinable
  init(query: Query, paging: Paging, context: QueryContext) {
    self.query = query
    self.paging = paging
    self.context = context
    self.isOpen = FetchAttempt.isOpen(of: context.fetchWork)
  }

  /// Fetches the page.
  ///
  /// - Parameters:
  ///   - continuation: The continuation of the whole fetch.
  ///   - value: Makes the value of the whole fetch from a value of the page.
  @inlinable
  func run(
    yieldingTo continuation: QueryContinuation<Value>,
    _ value: @escaping @Sendable (Page) -> Value
  ) async throws -> Page {
    let owner = self.owner
    let id = self.paging.pageId
    // Checked even if nobody listens yet: after a reset nothing starts, so nothing ends.
    let isStarted = owner?.report(Event.started(id), .work, in: self.context) ?? true
    let recorder = self.makeRecorder()
    let result: Result<Query.PageValue, any Error>
    do {
      let pageContinuation = QueryContinuation<Query.PageValue>(noting: recorder) {
        result, context in
        self.yield(result, in: context, to: continuation, owner, value)
      }
      result = .success(
        try await self.query.fetchPage(
          using: self.paging,
          in: self.context,
          with: pageContinuation
        )
      )
    } catch {
      result = .failure(error)
    }
    self.isFinished.store(true, ordering: .sequentiallyConsistent)
    let page = result.map { Page(id: id, value: $0) }
    let counts = self.isOpen?() ?? true
    if counts { self.emit(.result(id, page), reason: .returnedFinalResult, to: owner) }
    if isStarted { self.emit(.ended(id), .end, to: owner) }
    // The list of a refetch takes no page of an attempt that was given up, which asks for no more.
    if !counts { throw CancellationError() }
    return try page.get()
  }

  @inlinable
  func yield(
    _ result: Result<Query.PageValue, any Error>,
    in context: QueryContext?,
    to continuation: QueryContinuation<Value>,
    _ owner: StoreFetch<Query.State>?,
    _ value: (Page) -> Value
  ) {
    guard !self.isFinished.load(ordering: .sequentiallyConsistent) else {
      QueryWarning.queryYieldedAfterReturning(result).report()
      return
    }
    if self.isOpen?() == false { return }
    let page = result.map { Page(id: self.paging.pageId, value: $0) }
    self.emit(
      .result(self.paging.pageId, page),
      .fetch,
      in: context,
      reason: .yieldedResult,
      to: owner
    )
    continuation.yield(with: page.map(value), using: context)
  }

  @inlinable
  func emit(
    _ event: Event,
    _ scope: StoreFetch<Query.State>.ReportScope = .work,
    in eventContext: QueryContext? = nil,
    reason: QueryResultUpdateReason? = nil,
    to owner: StoreFetch<Query.State>?
  ) {
    guard let owner, owner.hasHandlers(in: self.context) else { return }
    var context = self.context
    if let eventContext {
      context = eventContext
      context.takeTask(of: self.context)
    }
    if let reason { context.queryResultUpdateReason = reason }
    owner.report(event, scope, in: context)
  }

  /// Where the page's continuation notes what it is told.
  @usableFromInline
  func makeRecorder() -> ValueRecorder? {
    guard let work = self.context.fetchWork else { return nil }
    let page = _PageKey.of(self.paging.pageId)
    work.beginPage(page, in: self.context)
    return ValueRecorder(work: work, context: self.context, page: page, isOpen: self.isOpen)
  }

  /// The fetch that this page is a part of, if its store has this query's state.
  @inlinable
  var owner: StoreFetch<Query.State>? {
    guard
      let owner = self.context[QueryContext.RunningTaskKey.self]?.owner,
      type(of: owner) == StoreFetch<Query.State>.self
    else { return nil }
    return unsafeDowncast(owner, to: StoreFetch<Query.State>.self)
  }
}

/// What happens to one page, for the handlers of an infinite query's store.
@usableFromInline
enum InfiniteQueryPageEvent<PageID: Hashable & Sendable, PageValue: Sendable>: Sendable {
  case started(PageID)
  case result(PageID, Result<InfiniteQueryPage<PageID, PageValue>, any Error>)
  case ended(PageID)
}
