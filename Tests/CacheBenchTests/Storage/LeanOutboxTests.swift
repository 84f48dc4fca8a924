import Foundation
import Query
import Testing

@testable import cache_bench

/// The leanest outbox keeps what the library's keeps: what waits is on disk before it is sent, and what has
/// ended is in a bounded history.
@Suite struct LeanOutboxTests {
  private let path: String
  private let outbox: LeanOutbox
  private let coder = JSONQueryCoder()

  init() throws {
    let folder = URL.temporaryDirectory.appending(path: "lean-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    self.path = folder.appending(path: "a.sqlite").path
    self.outbox = try LeanOutbox(path: self.path)
  }

  private func count(_ sql: String) throws -> Int64 {
    let connection = try BareConnection(path: self.path, .full)
    let statement = try connection.prepare("SELECT count(*) FROM \(sql)")
    return try withExtendedLifetime(connection) { try statement.step() ? statement.integer(0) : -1 }
  }

  private func notes(_ count: Int) -> [Note] { (0..<count).map { Note($0, edition: 0) } }

  @Test func whatWaitsIsReadByItsNumber() throws {
    let queued = try self.outbox.queue(self.notes(3), self.coder)
    #expect(queued.map(\.number) == [1, 2, 3])
    let newest = try self.outbox.newest(2).map { try self.coder.decode(Note.self, from: $0) }
    #expect(newest.map(\.number) == [2, 1])
    #expect(try self.count("outbox WHERE owner IS NULL") == 3)
  }

  @Test func whatHasEndedIsInTheHistoryAlone() throws {
    for queued in try self.outbox.queue(self.notes(3), self.coder) {
      try self.outbox.leaseAndSettle(queued, self.coder)
    }
    #expect(try self.count("outbox") == 0)
    #expect(try self.count("history WHERE result = '2'") == 0)
    #expect(try self.count("history") == 3)
  }

  @Test func theHistoryKeepsTheNewestFifty() throws {
    for note in self.notes(60) { try self.outbox.enqueueAndSettle([note], self.coder) }
    #expect(try self.count("outbox") == 0)
    #expect(try self.count("history") == 50)
    #expect(try self.count("history WHERE number > 10") == 50)
  }

  @Test func aLeaseIsGivenBack() throws {
    _ = try self.outbox.lease(times: 2)
    #expect(try self.count("outbox WHERE owner IS NULL") == 1)
  }
}
