import Foundation
import Query
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// Document 000, "Dependency Injection", "Overriding Time" and "Overriding Delays": blocks 9 to 13.

// MARK: - Block 9

private protocol HTTPDataTransport: Sendable {
  func data(for request: URLRequest) async throws -> (Data, URLResponse)
}

extension URLSession: HTTPDataTransport {
  func data(for request: URLRequest) async throws -> (Data, URLResponse) {
    try await self.data(for: request, delegate: nil)
  }
}

extension QueryContext {
  fileprivate var dataTransport: any HTTPDataTransport {
    get { self[DataTransportKey.self] }
    set { self[DataTransportKey.self] = newValue }
  }

  private enum DataTransportKey: Key {
    static let defaultValue: any HTTPDataTransport = URLSession.shared
  }
}

// MARK: - Block 10

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
        string: "https://jsonplaceholder.typicode.com/posts/\(id)"
      )!
      let (data, _) = try await context.dataTransport.data(for: URLRequest(url: url))
      return try JSONDecoder().decode(Post.self, from: data)
    }
  }
}

// MARK: - Block 11

@Suite("Document 000: a query over a transport in its context", .warningsAreIssues)
struct DataTransportTests {
  @Test
  func returnsPost() async throws {
    let store = QueryStore.detached(
      query: Post.query(for: 1),
      initialValue: nil
    )
    store.context.dataTransport = MockDataTransport()

    let post = try await store.fetch()
    let expectedPost = Post(
      id: 1,
      userId: 1,
      title: "Mock Title",
      body: "This is the body of the mock post."
    )
    #expect(post == expectedPost)
  }

  struct MockDataTransport: HTTPDataTransport {
    func data(for request: URLRequest) async throws -> (Data, URLResponse) {
      let mockJSON = """
        {
          "userId": 1,
          "id": 1,
          "title": "Mock Title",
          "body": "This is the body of the mock post."
        }
        """
      let data = mockJSON.data(using: .utf8)!
      let response = HTTPURLResponse(
        url: request.url!,
        statusCode: 200,
        httpVersion: nil,
        headerFields: ["Content-Type": "application/json"]
      )!
      return (data, response)
    }
  }
}

// MARK: - The rest of its text

extension DataTransportTests {
  @Test("The transport is the shared session where none was set, and asked for the post's URL")
  func transport() async throws {
    #expect(QueryContext().dataTransport as? URLSession === URLSession.shared)

    let server = try LoopbackServer(body: "{}")
    let url = try #require(URL(string: server.root))
    let (data, _) = try await QueryContext().dataTransport.data(for: URLRequest(url: url))
    #expect(String(decoding: data, as: UTF8.self) == "{}")
  }

  @Test("Block 12: the dates come from the clock of the context")
  func overridingTime() async throws {
    let store = QueryStore.detached(
      query: Post.query(for: 1),
      initialValue: nil
    )
    let date = Date(timeIntervalSince1970: 1_234_567_890)
    store.context.queryClock = .custom { date }

    store.context.dataTransport = MockDataTransport()
    try await store.fetch()

    #expect(store.valueLastUpdatedAt == date)

    store.context.dataTransport = FailingDataTransport()
    await #expect(throws: URLError.self) { try await store.fetch() }
    #expect(store.errorLastUpdatedAt == date)
  }

  @Test("Block 13: a delayer of the context replaces the delays of retries")
  func overridingDelays() async throws {
    let transport = FailingDataTransport()
    let store = QueryStore.detached(
      query: Post.query(for: 1).retry(limit: 3),
      initialValue: nil
    )
    store.context.dataTransport = transport
    store.context.queryDelayer = .noDelay

    // Will incur no retry delays.
    await #expect(throws: URLError.self) { try await store.fetch() }

    #expect(transport.requests.elements.count == 4)
    #expect(store.errorUpdateCount == 1)
  }

  @Test("Each retry is delayed by a longer time: 1, 2 and 4 seconds, or as Fibonacci counts")
  func delays() async throws {
    let store = QueryStore.detached(
      query: Post.query(for: 1).retry(limit: 3),
      initialValue: nil
    )
    store.context.dataTransport = FailingDataTransport()
    let delayer = RecordingDelayer()
    store.context.queryDelayer = delayer

    await #expect(throws: URLError.self) { try await store.fetch() }
    #expect(delayer.delays == [1, 2, 4])

    store.context.queryBackoffFunction = .fibonacci(1)
    await #expect(throws: URLError.self) { try await store.fetch() }
    #expect(delayer.delays == [1, 2, 4, 1, 1, 2])
  }

  private struct FailingDataTransport: HTTPDataTransport {
    let requests = Recorder<URL?>()

    func data(for request: URLRequest) async throws -> (Data, URLResponse) {
      self.requests.append(request.url)
      throw URLError(.notConnectedToInternet)
    }
  }
}
