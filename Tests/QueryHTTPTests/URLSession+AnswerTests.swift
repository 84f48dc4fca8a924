import Foundation
import FoundationNetworking
import Query
import QueryHTTP
import TestSupport
import Testing

@Suite struct URLSessionAnswerTests {
  @Test func theAnswerIsThatOfTheServer() async throws {
    let server = try LoopbackServer { request, _ in .status(201, body: request.method) }
    var request = URLRequest(url: server.url)
    request.httpMethod = "POST"
    let (data, response) = try await URLSession.shared.answer(to: request)
    #expect(String(decoding: data, as: UTF8.self) == "POST")
    #expect((response as? HTTPURLResponse)?.statusCode == 201)
    let (got, _) = try await URLSession.shared.answer(from: server.url)
    #expect(String(decoding: got, as: UTF8.self) == "GET")
  }

  @Test func aServerThatIsNotThereIsAnURLError() async throws {
    let url = try LoopbackServer { _, _ in .status(200) }.url
    await #expect(throws: URLError.self) { try await URLSession.shared.answer(from: url) }
  }

  @Test func aRequestOfACancelledTaskFailsAsCancelled() async throws {
    let server = try LoopbackServer { _, _ in .silence }
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await URLSession.shared.answer(from: server.url)
    }
    task.cancel()
    let error = await #expect(throws: URLError.self) { try await task.value }
    #expect(error?.code == .cancelled)
  }

  @Test func aCancellationBesideTheAnswerEndsEitherWay() async throws {
    // `data(for:)` deadlocks in about one of 130 such cancellations.
    let server = try LoopbackServer { _, _ in .status(200) }
    for round in 0..<300 {
      let arrived = server.requests.count
      let task = Task { try await URLSession.shared.answer(from: server.url) }
      if round % 2 == 0 { await server.requests.wait(forCount: arrived + 1) }
      task.cancel()
      _ = try? await task.value
    }
  }
}
