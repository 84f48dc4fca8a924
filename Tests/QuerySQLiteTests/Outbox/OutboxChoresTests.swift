import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// What a transaction has left to others is done by the next process, where this one is killed.
@Suite(.serialized) struct OutboxChoresTests {
  private static let count = 150
  private static let limit = 5

  private static func end(_ scratch: OutboxScratch, _ text: String) async throws {
    var mutation = OutboxScratch.mutation(text)
    mutation.instance = "[\"\(text)\"]"
    let sent = try await scratch.outbox.enqueue(mutation, claiming: true)
    _ = try await scratch.outbox.settle(try #require(sent.lease), OutboxScratch.success)
  }

  /// Lets one more end, and returns when no more of the history is there than there may be.
  private static func prune(_ folder: TemporaryFolder, vfs: String?) async throws {
    let scratch = try OutboxScratch(in: folder) {
      $0.vfs = vfs
      $0.outboxDurability = .normal
      $0.stepRows = 1
      $0.mutationHistory = MutationHistoryLimits(
        perMutation: 0, total: Self.limit, days: 0, bytes: 0)
    }
    try await Self.end(scratch, "one more")
    let count: SQL = "SELECT count(*) FROM history"
    let connection = try SQLiteConnection(path: scratch.path)
    while try connection.first(count, read: { try $0.integer(at: 0) }) != Int64(Self.limit) {
      try await Task.sleep(for: .milliseconds(5))
    }
    try connection.close()
    try await scratch.storage.close()
  }

  @Test func eachChoreOfEachPartitionIsNotedOnce() {
    let (one, other) = (OutboxPartition(name: "one"), OutboxPartition(name: "other"))
    var chores = OutboxChores()
    for _ in 0..<2 {
      chores.add(.prune, of: one)
      chores.add(.expire, of: one)
      chores.add(.prune, of: other)
    }
    var found = [(partition: String, chore: OutboxChores.Chore)]()
    while let next = chores.next() { found.append((next.partition.name, next.chore)) }
    #expect(found.map(\.partition) == ["one", "one", "other"])
    #expect(found.map(\.chore) == [.prune, .expire, .prune])
    #expect(chores.due == nil)
  }

  @Test func whatAKilledProcessHasLeftOfTheHistoryGoesWithTheNext() async throws {
    let origin = try TemporaryFolder()
    let first = try OutboxScratch(in: origin) {
      $0.outboxDurability = .normal
      $0.mutationHistory = MutationHistoryLimits(perMutation: 0, total: 0, days: 0, bytes: 0)
    }
    for number in 0..<Self.count { try await Self.end(first, "\(number)") }
    try await first.storage.close()
    var kills = 0
    for nth in [3, 8, 14, 20, 30, 40, 60] {
      let folder = try TemporaryFolder()
      try FolderContents.copy(origin.path, to: folder.path)
      let result = await #expect(
        processExitsWith: .failure, observing: [\.exitStatus]
      ) { [path = folder.path as String, nth = nth as Int] in
        let vfs = FaultVFS()
        vfs.kill(.changes, nth: nth)
        try await Self.prune(TemporaryFolder(path: path), vfs: vfs.name)
        exit(7)
      }
      // One that came to its end has removed its folder.
      guard result?.exitStatus == .signal(SIGKILL) else { break }
      kills += 1
      try await Self.prune(folder, vfs: nil)
      let connection = try SQLiteConnection(path: "\(folder.path)/mutations.sqlite")
      #expect(try connection.pragma("PRAGMA integrity_check") == "ok")
      #expect(
        try connection.rowsOfText(
          "SELECT history_count = (SELECT count(*) FROM history) FROM partitions") == ["1"])
      try connection.close()
    }
    #expect(kills >= 3)
  }
}
