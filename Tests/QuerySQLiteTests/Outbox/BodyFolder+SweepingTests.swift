import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Replay §8: what processes that died, or a full disk, leave of files.
@Suite struct BodyFolderSweepingTests {
  private static func mutation(_ file: URL) -> NewMutation {
    var mutation = OutboxScratch.mutation()
    mutation.bodies = [file]
    return mutation
  }

  private static func names(in folder: String) -> Set<String> {
    Set((try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/bodies")) ?? [])
  }

  @Test func filesOutliveTheProcessAndLeftOnesDoNot() async throws {
    let (scratch, source) = (try OutboxScratch(), try ScratchFolder())
    let file = try source.file("photo", Data("hello".utf8))
    let id = try await scratch.outbox.enqueue(Self.mutation(file), claiming: false).entry.id
    let kept = Self.names(in: scratch.folder.path)
    #expect(kept.count == 1)
    try await scratch.storage.close()
    for name in ["left", "\(UUID().uuidString)-5-\(String(repeating: "0", count: 32))"] {
      try Data("hello".utf8).write(to: URL(filePath: "\(scratch.folder.path)/bodies/\(name)"))
    }
    let next = try OutboxScratch(in: scratch.folder)
    try await next.add()
    #expect(Self.names(in: scratch.folder.path) == kept)
    let copy = try #require(try await next.outbox.bodies(of: id).first)
    #expect(try Data(contentsOf: copy) == Data("hello".utf8))
    try await next.storage.close()
  }

  /// A copy is locked until its row is committed.
  @Test func aFileThatIsAboutToGetARowStays() async throws {
    let (scratch, source) = (try OutboxScratch(), try ScratchFolder())
    let file = try source.file("photo", Data("hello".utf8))
    let copies = try await BodyFolder(besideOutboxIn: scratch.folder.path).copy([file])
    try await scratch.add()
    #expect(Self.names(in: scratch.folder.path) == Set(BodyNames.split(copies.names)))
    withExtendedLifetime(copies) {}
    try await scratch.storage.close()
  }

  @Test func aProcessThatIsKilledBeforeTheCommitLeavesNothing() async throws {
    let (folder, source) = (try TemporaryFolder(), try ScratchFolder())
    let file = try source.file("photo", Data(repeating: 7, count: 5 << 20))
    let scratch = try OutboxScratch(in: folder)
    try await scratch.add()
    try await scratch.storage.close()
    // The worker gets no further than to its commit.
    let blocker = try SQLiteConnection(path: "\(folder.path)/mutations.sqlite")
    _ = try blocker.rowsOfText("BEGIN IMMEDIATE")
    let worker = try WorkerProcess("body", folder.path, file.path)
    func isCopied() -> Bool {
      Self.names(in: folder.path).contains { BodyName($0) != nil }
    }
    while !isCopied() { try await Task.sleep(for: .milliseconds(10)) }
    worker.killNow()
    _ = await worker.finish()
    _ = try blocker.rowsOfText("ROLLBACK")
    try blocker.close()
    #expect(isCopied())
    let next = try OutboxScratch(in: folder)
    try await next.add()
    #expect(Self.names(in: folder.path) == [])
    #expect(try next.outbox.counts.rows == OutboxCounts(pending: 2))
    try await next.storage.close()
  }

  @Test func aLargeFileNeedsNoMemory() async throws {
    let (folder, source) = (try TemporaryFolder(), try ScratchFolder())
    let file = try source.file("film", Data())
    #expect(truncate(file.path, 128 << 20) == 0)
    let worker = try WorkerProcess("body", folder.path, file.path, "warm")
    let (code, lines) = await worker.finish()
    #expect(code == 0)
    let grown = try #require(
      lines.first { $0.hasPrefix("grown ") }.flatMap { Int($0.dropFirst(6)) })
    #expect(grown < 16 << 10, "\(grown) KiB")
    #expect(Self.names(in: folder.path).count == 1)
    let scratch = try OutboxScratch(in: folder)
    let entry = try #require(try scratch.outbox.entries().first)
    let copy = try #require(try await scratch.outbox.bodies(of: entry.id).first)
    #expect(try copy.resourceValues(forKeys: [.fileSizeKey]).fileSize == 128 << 20)
    try await scratch.storage.close()
  }

  @Test(.enabled(if: MountedFolder.isPossible, "only root can mount a small file system"))
  func aFileThatDoesNotFitIsRefusedAndLeavesNothing() async throws {
    let (folder, source) = (try MountedFolder(bytes: 6 << 20), try ScratchFolder())
    let storage = try SQLiteQueryStorage(directory: URL(filePath: folder.path))
    let small = try source.file("small", Data("hello".utf8))
    _ = try await storage.outbox.enqueue(Self.mutation(small), claiming: false)
    let kept = Self.names(in: folder.path)
    let large = try source.file("large", Data(repeating: 1, count: 16 << 20))
    await #expect {
      try await storage.outbox.enqueue(Self.mutation(large), claiming: false)
    } throws: {
      ($0 as? StorageError)?.code == .full
    }
    #expect(Self.names(in: folder.path) == kept)
    #expect(try storage.outbox.counts.rows == OutboxCounts(pending: 1))
    _ = try await storage.outbox.enqueue(Self.mutation(small), claiming: false)
    try await storage.close()
  }

  @Test(arguments: ["", ".", "..", "a", "../a", "a-b-c-d-e-f-g"])
  func whatARowNamesIsNotBelieved(_ name: String) {
    #expect(BodyName(name) == nil)
  }
}
