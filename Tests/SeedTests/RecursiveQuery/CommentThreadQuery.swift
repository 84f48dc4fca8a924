import Query
import TestSupport

// Document 004, "Concluding Our Custom Fetching Paradigm": the types of block 32, and what they
// fetch from.

struct Comment: RecursiveValue, Sendable {
  let nodeId: Int
  var children = [Comment]()
}

struct CommentThreadQuery: RecursiveQueryRequest, Hashable {
  typealias Value = Comment
  typealias NodeID = Int

  let rootNodeId: Int

  func fetchTree(
    for id: Int,
    in context: QueryContext,
    with continuation: QueryContinuation<Comment>
  ) async throws -> Comment {
    // Fetch the sub-thread from our API...
    try await context.commentsAPI.thread(id)
  }
}

extension Comment: Equatable {}

/// A thread in which 0 has the answers 10 and 20; 10 has 11 and 12; 20 has 21.
final class CommentsAPI: Sendable {
  /// The requested identifiers.
  let calls = Recorder<Int>()

  private let answer: @Sendable (Int, _ number: Int) async throws -> Void

  /// Creates an API.
  ///
  /// - Parameter answer: What each call does before it answers, given the identifier and how many
  ///   calls of it there were, this one included.
  init(_ answer: @escaping @Sendable (Int, _ number: Int) async throws -> Void = { _, _ in }) {
    self.answer = answer
  }

  /// A comment and its direct answers.
  func thread(_ id: Int) async throws -> Comment {
    self.calls.append(id)
    try await self.answer(id, self.calls.elements.count { $0 == id })
    let answers = [0: [10, 20], 10: [11, 12], 20: [21]]
    return Comment(nodeId: id, children: (answers[id] ?? []).map { Comment(nodeId: $0) })
  }
}

extension QueryContext {
  var commentsAPI: CommentsAPI {
    get { self[CommentsAPIKey.self] }
    set { self[CommentsAPIKey.self] = newValue }
  }

  private enum CommentsAPIKey: Key {
    static var defaultValue: CommentsAPI { CommentsAPI() }
  }

  /// A context whose queries fetch from an API.
  static func comments(_ api: CommentsAPI) -> QueryContext {
    var context = QueryContext()
    context.commentsAPI = api
    return context
  }
}
