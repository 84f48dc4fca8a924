import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Persistence §8: on a full or failing disk nothing is acknowledged that is not saved, and what is
/// there is sent.
@Suite struct OutboxFaultTests {
  @Test func onAFullDiskNothingIsAcknowledgedAndTheOutboxIsDrained() async throws {
    let vfs = FaultVFS()
    let scratch = try OutboxScratch { $0.vfs = vfs.name }
    for number in 0..<20 { try await scratch.add("\(number)") }
    let events = scratch.storage.events
    vfs.fail([.grow], nth: 1, persistently: true, with: 13)
    let large = String(repeating: "x", count: 1 << 20)
    do {
      try await scratch.add(large)
      Issue.record("it cannot be saved")
    } catch StorageError.Code.full {}
    #expect(try scratch.outbox.counts.rows == OutboxCounts(pending: 20))
    // An event, since what needs no room may be written again before the test looks.
    for await event in events { if case .degraded = event { break } }
    for _ in 0..<20 {
      let lease = try #require(try await scratch.claim().first)
      #expect(try await scratch.outbox.settle(lease, OutboxScratch.success))
    }
    #expect(try scratch.outbox.counts.rows == OutboxCounts())
    vfs.disarm()
    try await scratch.add(large)
    #expect(!scratch.storage.statistics.isDegraded)
    try await scratch.storage.close()
  }

  @Test func aSmallMutationIsNotKeptFromTheDiskByALargeOne() async throws {
    let vfs = FaultVFS()
    let scratch = try OutboxScratch { $0.vfs = vfs.name }
    try await scratch.add()
    vfs.fail([.grow], nth: 1, persistently: true, with: 13)
    let large = String(repeating: "x", count: 1 << 20)
    let saved = try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<8 {
        group.addTask {
          do {
            try await scratch.add(number % 2 == 0 ? large : "small")
            return true
          } catch StorageError.Code.full {
            return false
          }
        }
      }
      return try await group.reduce(0) { $1 ? $0 + 1 : $0 }
    }
    #expect(saved == 4)
    vfs.disarm()
    try await scratch.storage.close()
  }

  @Test(arguments: 1...40)
  func afterAnyFailureWhatWasAcknowledgedIsThere(_ nth: Int) async throws {
    let vfs = FaultVFS()
    let scratch = try OutboxScratch { $0.vfs = vfs.name }
    var known = Set([try await scratch.add("first")])
    vfs.fail([.write, .sync], nth: nth, with: 10)
    for number in 0..<6 {
      if let id = try? await scratch.add("\(number)", lane: "l") { known.insert(id) }
    }
    vfs.disarm()
    #expect(try known.isSubset(of: scratch.outbox.entries().map(\.id)))
    try await scratch.storage.close()
    let next = try OutboxScratch(in: scratch.folder)
    #expect(try known.isSubset(of: next.outbox.entries().map(\.id)))
    try await next.storage.close()
  }

  @Test func whereTheFolderCannotBeMadeEveryCallSaysSoAndNothingCrashes() async throws {
    let folder = try TemporaryFolder()
    try Data().write(to: URL(filePath: "\(folder.path)/file"))
    let storage = try SQLiteQueryStorage(directory: URL(filePath: "\(folder.path)/file/data"))
    await #expect(throws: StorageError.self) {
      try await storage.outbox.enqueue(OutboxScratch.mutation(), claiming: true)
    }
    #expect(storage.statistics.isDegraded)
    try? await storage.close()
  }

  @Test func bodyFilesGoWithTheirRows() async throws {
    let scratch = try OutboxScratch()
    // Files that no row names are removed when the outbox is opened.
    try await scratch.outbox.cancel(try await scratch.add())
    let bodies = "\(scratch.folder.path)/bodies"
    try DatabaseFiles().makeFolder(bodies)
    for name in ["kept", "sent", "left"] {
      try DatabaseFiles().makeFile("\(bodies)/\(name)")
    }
    for name in ["kept", "sent"] {
      var mutation = OutboxScratch.mutation(name, lane: name)
      mutation.bodyFile = name
      let enqueued = try await scratch.outbox.enqueue(mutation, claiming: name == "sent")
      if let lease = enqueued.lease {
        _ = try await scratch.outbox.settle(lease, OutboxScratch.success)
      }
    }
    try await scratch.storage.close()
    let next = try OutboxScratch(in: scratch.folder)
    try await next.add()
    let names = try FileManager.default.contentsOfDirectory(atPath: bodies)
    #expect(Set(names) == ["kept"])
    try await next.storage.close()
  }
}
