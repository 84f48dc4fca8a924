import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// Replay §6: pauses are on disk, and for every process.
@Suite struct PauseRowTests {
  private static let pauses = [OutboxPause.lane("lane"), .name("note"), .host("example.org")]

  private static func filled() async throws -> (OutboxScratch, UUID) {
    let scratch = try OutboxScratch()
    var mutation = OutboxScratch.mutation("held", lane: "lane")
    mutation.host = "example.org"
    let id = try await scratch.outbox.enqueue(mutation, claiming: false).entry.id
    return (scratch, id)
  }

  @Test(arguments: Self.pauses)
  func aPauseIsThereAfterARestart(_ pause: OutboxPause) async throws {
    let (scratch, id) = try await Self.filled()
    try await scratch.outbox.pause(pause)
    try await scratch.storage.close()
    let next = try OutboxScratch(in: scratch.folder)
    #expect(try next.outbox.pauses.keys.map(\.self) == [pause])
    #expect(try await next.claim().isEmpty)
    try await next.outbox.resume(pause)
    #expect(try await next.claim().map(\.entry.id) == [id])
    try await next.storage.close()
  }

  /// What a release does not know holds nothing that it knows, and stays.
  @Test func aPauseOfALaterReleaseIsLeftAlone() async throws {
    let (scratch, id) = try await Self.filled()
    try await scratch.outbox.pause(.lane("another"))
    try scratch.damage("INSERT INTO pauses VALUES (1, 'country', 'nl', 0)")
    #expect(try scratch.outbox.pauses.keys.map(\.self) == [.lane("another")])
    #expect(try await scratch.claim().map(\.entry.id) == [id])
    try await scratch.storage.close()
  }

  @Test(
    arguments: [
      "UPDATE lane_heads SET state = 'ready'", "DELETE FROM lane_heads",
    ] as [SQL])
  func aHeadOfAPausedLaneIsMadeAnew(_ sql: SQL) async throws {
    let (scratch, id) = try await Self.filled()
    try await scratch.outbox.pause(.lane("lane"))
    try await scratch.storage.close()
    try scratch.damage(sql)
    let next = try OutboxScratch(in: scratch.folder)
    #expect(try await next.claim().isEmpty)
    #expect(try next.outbox.entry(id)?.waitReason == .paused)
    try await next.storage.close()
  }

  @Test func pausesOfADamagedFileAreInTheNewOne() async throws {
    let (scratch, id) = try await Self.filled()
    for pause in Self.pauses { try await scratch.outbox.pause(pause) }
    try scratch.damage("DELETE FROM migrations")
    try await scratch.storage.close()
    let next = try OutboxScratch(in: scratch.folder)
    #expect(try next.outbox.entry(id)?.waitReason == .paused)
    #expect(Set(try next.outbox.pauses.keys) == Set(Self.pauses))
    #expect(try await next.claim().isEmpty)
    for pause in Self.pauses { try await next.outbox.resume(pause) }
    #expect(try await next.claim().map(\.entry.id) == [id])
    try await next.storage.close()
  }
}
