import Foundation
import Query
import TestSupport
import Testing

@testable import QueryHTTP

/// A day of a field client: pages of 50 records, refreshed every quarter of an hour for ten hours, with
/// one change for ten pages. A tenth of it in an ordinary run, which is the same share of bytes.
@Suite(.serialized) struct HTTPBytesTests {
  private static let pageCount = ProcessInfo.processInfo.environment["FULL"] == nil ? 10 : 100
  private static let rounds = 40

  private struct Record: Codable, Sendable {
    var id: Int
    var text: String
    var version: Int
  }

  private static func page(_ number: Int, version: Int) -> String {
    let records = (0..<50).map {
      "{\"id\":\(number * 50 + $0),\"text\":\"note \($0), about a thing that was seen\","
        + "\"version\":\(version)}"
    }
    return "[\(records.joined(separator: ","))]"
  }

  private static func set(_ server: ValidatingServer, _ number: Int, version: Int) {
    server["/notes?page=\(number)"] = ValidatingServer.Resource(
      self.page(number, version: version),
      headers: [
        "Content-Type": "application/json", "Server": "notes/1.0",
        "Date": "Sun, 06 Nov 1994 08:49:37 GMT", "ETag": "\"5f3a-\(number)-\(version)\"",
        "Cache-Control": "max-age=0, must-revalidate",
      ])
  }

  /// - Returns: How many bytes the server has sent.
  private func day(_ policy: HTTPCachePolicy) async throws -> Int {
    let server = try ValidatingServer()
    for number in 0..<Self.pageCount { Self.set(server, number, version: 1) }
    let scratch = try HTTPScratch()
    let query = HTTPPages(
      server.url("/notes"), first: 0, as: [Record].self, policy: policy,
      url: { server.url("/notes?page=\($0)") },
      next: { id, _ in id + 1 < Self.pageCount ? id + 1 : nil })
    let client = scratch.client()
    let store = client.store(for: query.persisted())
    for _ in 0..<Self.pageCount { try await store.fetchNextPage() }
    let changes = Self.pageCount / 10
    for round in 1..<Self.rounds {
      scratch.clock.advance(by: 900)
      if round % (Self.rounds / max(1, changes)) == 1 || changes == 1 && round == 20 {
        Self.set(server, round % Self.pageCount, version: round)
      }
      try await store.fetch()
    }
    #expect(store.currentValue.count == Self.pageCount)
    #expect(server.requests.count == Self.pageCount * Self.rounds)
    return server.sentBytes
  }

  @Test func refreshesThatFindNothingNewCostHeadersAlone() async throws {
    let with = try await self.day(.validators)
    let without = try await self.day(.none)
    let share = Double(with) / Double(without)
    print("bytes of a day: \(without) without validators, \(with) with, \(share)")
    #expect(share <= 0.085)
  }
}
