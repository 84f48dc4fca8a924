import Foundation
import Query
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// Document 000, "Dependency Injection": block 8, and the line that block 10 removes. A server on
// the loopback interface stands for the one of the document.

private struct Post: Sendable, Decodable, Equatable {
  let id: Int
  let userId: Int
  let title: String
  let body: String
}

extension Post {
  static func query(for id: Int) -> some QueryRequest<Self, Query.State> {
    Query(id: id)
  }

  struct Query: QueryRequest, Hashable {
    let id: Int

    func fetch(
      in context: QueryContext,
      with continuation: QueryContinuation<Post>
    ) async throws -> Post {
      let url = URL(
        string: "\(context.serverURL)/posts/\(id)"
      )!
      let (data, _) = try await URLSession.shared.data(from: url)
      return try JSONDecoder().decode(Post.self, from: data)
    }
  }
}

extension QueryContext {
  fileprivate var serverURL: String {
    get { self[ServerURLKey.self] }
    set { self[ServerURLKey.self] = newValue }
  }

  private enum ServerURLKey: Key {
    static let defaultValue = "http://127.0.0.1:1"
  }
}

@Suite("Document 000: a query over URLSession", .warningsAreIssues)
struct URLSessionPostTests {
  @Test("A query loads its value through the shared session")
  func fetch() async throws {
    let server = try LoopbackServer(
      body: #"{"userId": 3, "id": 1, "title": "A title", "body": "A body."}"#
    )
    let store = QueryStore.detached(query: Post.query(for: 1), initialValue: nil)
    store.context.serverURL = server.root

    let post = try await store.fetch()

    #expect(post == Post(id: 1, userId: 3, title: "A title", body: "A body."))
    #expect(store.currentValue == post)
    #expect(server.requests.elements.map(\.line) == ["GET /posts/1 HTTP/1.1"])
  }

  @Test("An answer that is no post is the error of the fetch")
  func failure() async throws {
    let server = try LoopbackServer(body: "[]")
    let store = QueryStore.detached(query: Post.query(for: 2), initialValue: nil)
    store.context.serverURL = server.root

    await #expect(throws: DecodingError.self) { try await store.fetch() }
    #expect(store.error is DecodingError)
    #expect(server.requests.elements.map(\.line) == ["GET /posts/2 HTTP/1.1"])
  }
}
