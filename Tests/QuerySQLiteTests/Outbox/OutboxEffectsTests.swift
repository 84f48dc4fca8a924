import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// What the cache is told of mutations that have succeeded.
@Suite struct OutboxEffectsTests {
  @Test func aSuccessMakesTheCacheStaleThoughNoStoreLives() async throws {
    let scratch = try OutboxScratch()
    let query = NamedText(name: "old")
    let named = PostText(id: 1)
    let client = QueryClient(storage: scratch.storage)
    client.store(for: query.persisted()).currentValue = "old"
    client.store(for: named.persisted(as: "post")).currentValue = "old"
    client.store(for: PostText(id: 2).persisted(as: "post")).currentValue = "old"
    try await scratch.storage.flush()
    let enqueued = try await scratch.outbox.enqueue(OutboxScratch.mutation(), claiming: true)
    _ = try await scratch.outbox.settle(
      try #require(enqueued.lease),
      .succeeded(SuccessfulAttempt(result: nil, invalidates: [query.path, named.path])))
    // The next job comes after the cache was told, and the flush after it has invalidated.
    try await scratch.add()
    try await scratch.storage.flush()
    try await scratch.storage.close()
    let second = try OutboxScratch(in: scratch.folder)
    #expect(try second.rows("SELECT count(*) FROM history WHERE effects NOTNULL") == ["0"])
    let next = QueryClient(storage: second.storage)
    #expect(next.store(for: query.persisted()).isInvalidated)
    #expect(next.store(for: named.persisted(as: "post")).isInvalidated)
    #expect(!next.store(for: PostText(id: 2).persisted(as: "post")).isInvalidated)
    try await second.storage.close()
  }

  /// The row that takes the edit has told the cache of its own effects a moment before, or is about to.
  @Test func anEditThatTheHistoryForgetsIsTold() async throws {
    let scratch = try OutboxScratch()
    let (edited, invalidated) = (NamedText(name: "edited"), NamedText(name: "invalidated"))
    let client = QueryClient(storage: scratch.storage)
    // Of a value that was set it is not known which edits it lacks.
    try await client.store(for: edited.persisted()).fetch()
    client.store(for: invalidated.persisted()).currentValue = "old"
    try await scratch.storage.flush()
    var mutation = OutboxScratch.mutation()
    mutation.instance = "[1]"
    mutation.editedPaths = EditedPaths(text: try QueryIdentity(path: edited.path).text)
    for (mutation, paths) in [(mutation, []), (OutboxScratch.mutation(), [invalidated.path])] {
      let lease = try await scratch.outbox.enqueue(mutation, claiming: true).lease
      _ = try await scratch.outbox.settle(
        try #require(lease), .succeeded(SuccessfulAttempt(result: nil, invalidates: paths)))
    }
    try await scratch.outbox.clearHistory(of: "note", instance: "[1]")
    // The next job comes after the cache was asked which values lack the edit, the first flush after it was told of
    // them, and the second one has invalidated.
    try await scratch.add()
    try await scratch.storage.flush()
    try await scratch.storage.flush()
    try await scratch.storage.close()
    let second = try OutboxScratch(in: scratch.folder)
    let next = QueryClient(storage: second.storage)
    #expect(next.store(for: edited.persisted()).isInvalidated)
    #expect(next.store(for: invalidated.persisted()).isInvalidated)
    try await second.storage.close()
  }
}

/// A text whose path has its type.
private struct PostText: QueryRequest, Hashable {
  let id: Int

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<String>
  ) async throws -> String { "fetched" }
}
