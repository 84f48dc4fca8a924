import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// A disk that is gone under a running process, and comes back.
@Suite(.serialized) struct VanishedDiskTests {
  private static func mount(_ source: String, at path: String) -> Bool {
    Glibc.mount(source, path, "none", UInt(MS_BIND), nil) == 0
  }

  /// The outbox looks at the whole path of its file once in 10 ms.
  private static func letPathBeCheckedAgain() async throws {
    try await Task.sleep(for: .milliseconds(20))
  }

  @Test(.enabled(if: MountedFolder.isPossible, "only root can mount a file system"))
  func whatWasOnADiskThatIsGoneIsToldAndIsThereWhenItIsBack() async throws {
    let (disk, place) = (try TemporaryFolder(), try TemporaryFolder())
    try #require(Self.mount(disk.path, at: place.path))
    defer { umount2(place.path, Int32(MNT_DETACH)) }
    let scratch = try OutboxScratch(in: place) { $0.retryDelay = .milliseconds(5) }
    let log = EventLog(scratch.storage.events)
    let first = try await scratch.add("first")
    try await scratch.storage.set(["a": "first"])
    #expect(umount2(place.path, Int32(MNT_DETACH)) == 0)
    // The folder that the disk was mounted on is there, and it is empty.
    try await Self.letPathBeCheckedAgain()
    let second = try await scratch.add("second")
    await log.wait(\.isDegraded)
    await log.recovery()
    #expect(try scratch.outbox.entries().map(\.id) == [second])
    try await scratch.storage.set(["b": "second"])
    #expect(await scratch.storage.text("b") == "second")
    try #require(Self.mount(disk.path, at: place.path))
    try await Self.letPathBeCheckedAgain()
    let third = try await scratch.add("third")
    #expect(try scratch.outbox.entries().map(\.id) == [first, third])
    // Each of the two files reports it by itself.
    await log.health(count: 4)
    try await scratch.storage.set(["c": "third"])
    await log.recovery()
    #expect(log.health.first == true)
    #expect(await scratch.storage.text("a") == "first")
    try await scratch.storage.close()
  }

  @Test func whoDeletesTheFolderOfAnOutboxWithMutationsIsNotSilent() async throws {
    let parent = try TemporaryFolder()
    let folder = "\(parent.path)/store"
    let trial = try StorageTrial(in: folder)
    let outbox = trial.storage.outbox
    _ = try await outbox.enqueue(OutboxScratch.mutation("first"), claiming: false)
    while FileManager.default.fileExists(atPath: folder) {
      try? FileManager.default.removeItem(atPath: folder)
    }
    let second = try await outbox.enqueue(OutboxScratch.mutation("second"), claiming: false)
    await trial.log.wait(\.isDegraded)
    await trial.log.recovery()
    #expect(try outbox.entries().map(\.id) == [second.entry.id])
    let reason = trial.log.events.compactMap {
      if case .degraded(let reason) = $0 { reason.message } else { nil }
    }
    #expect(reason == ["the file was moved or removed, and the mutations in it with it"])
    #expect(await trial.close() == nil)
  }

  /// There is nothing to be told of.
  @Test func whoDeletesTheFolderOfAnEmptyOutboxTakesNothing() async throws {
    let parent = try TemporaryFolder()
    let folder = "\(parent.path)/store"
    let trial = try StorageTrial(in: folder)
    let outbox = trial.storage.outbox
    let sent = try await outbox.enqueue(OutboxScratch.mutation("first"), claiming: true)
    #expect(try await outbox.settle(try #require(sent.lease), OutboxScratch.success))
    while FileManager.default.fileExists(atPath: folder) {
      try? FileManager.default.removeItem(atPath: folder)
    }
    _ = try await outbox.enqueue(OutboxScratch.mutation("second"), claiming: false)
    #expect(await trial.close() == nil)
    #expect(trial.log.health.isEmpty)
  }
}
