import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// Persistence §8: on a full disk queries go on, what is there can be read and removed, and what waits
/// is written when there is room.
@Suite struct FullDiskTests {
  @Test func whatIsThereIsReadAndWhatWaitsIsWrittenWhenThereIsRoom() async throws {
    let folder = try TemporaryFolder()
    let vfs = FaultVFS()
    let trial = try StorageTrial(in: folder.path, vfs: vfs)
    trial.set("old", "old")
    #expect(await trial.flush() == nil)
    await trial.waitForCheckpoint()
    vfs.fail([.grow], nth: 1, persistently: true, with: 13)
    let text = String(repeating: "new", count: 100_000)
    trial.set("new", text)
    let failure = try #require(await trial.flush())
    #expect(failure.code == .full)
    #expect(trial.storage.statistics.isDegraded)
    #expect(await trial.text("old") == "old")
    #expect(await trial.text("new") == text)
    #expect(try await trial.store("fetched").fetch() == "fetched")
    vfs.disarm()
    await trial.log.recovery()
    #expect(await trial.flush() == nil)
    #expect(trial.log.health == [true, false])
    await trial.close()
    let texts = try await StorageTrial.texts(["old", "new", "fetched"], in: folder.path)
    #expect(texts == ["old": "old", "new": text, "fetched": "fetched"])
  }

  @Test func aStorageThatIsMadeOnAFullDiskWorksFromMemoryUntilThereIsRoom() async throws {
    let folder = try TemporaryFolder()
    let vfs = FaultVFS()
    vfs.fail([.grow], nth: 1, persistently: true, with: 13)
    let trial = try StorageTrial(in: folder.path, vfs: vfs)
    #expect(trial.storage.statistics.isDegraded)
    trial.set("a", "text")
    #expect(await trial.text("a") == "text")
    vfs.disarm()
    await trial.log.recovery()
    #expect(await trial.flush() == nil)
    await trial.close()
    #expect(try await StorageTrial.texts(["a"], in: folder.path) == ["a": "text"])
  }

  @Test func aFlushOfNothingIsNoSignOfRecovery() async throws {
    let folder = try TemporaryFolder()
    let vfs = FaultVFS()
    vfs.fail([.grow], nth: 1, persistently: true, with: 13)
    let trial = try StorageTrial(in: folder.path, vfs: vfs)
    #expect(await trial.flush() == nil)
    #expect(trial.storage.statistics.isDegraded)
    vfs.disarm()
    await trial.log.recovery()
    #expect(trial.log.health == [true, false])
    await trial.close()
  }

  @Test(.enabled(if: MountedFolder.isPossible, "only root can mount a small file system"))
  func onASmallFileSystemThatIsFullEntriesAreReadAndRemoved() async throws {
    let folder = try MountedFolder(bytes: 6 << 20)
    let trial = try StorageTrial(in: folder.path) { $0.checkpointFrames = 20 }
    let names = (0..<20).map { "entry \($0)" }
    let text = String(repeating: "x", count: 10_000)
    for name in names {
      trial.set(name, text)
      #expect(await trial.flush() == nil)
      await trial.waitForCheckpoint()
    }
    #expect(await trial.flush() == nil)
    // The thread that writes makes it, and without it the log has no room for what comes.
    await trial.waitForCheckpoint()
    try folder.fill()
    let large = String(repeating: "y", count: 1 << 20)
    trial.set("large", large)
    #expect(await trial.flush()?.code == .full)
    #expect(trial.storage.statistics.isDegraded)
    for name in names { #expect(await trial.text(name) == text) }
    // There is room for some removals at a time in the log as it is.
    trial.store("large").reset()
    for name in names.dropFirst() { trial.store(name).reset() }
    #expect(await trial.flush() == nil)
    #expect(await trial.text(names[1]) == nil)
    trial.set("large", large)
    #expect(await trial.flush()?.code == .full)
    folder.makeRoom()
    await trial.log.recovery()
    #expect(await trial.flush() == nil)
    await trial.close()
    let texts = try await StorageTrial.texts(names + ["large"], in: folder.path)
    #expect(texts == [names[0]: text, "large": large])
  }

  /// Whatever the log has of the last commits: what is erased must not wait for room.
  @Test(
    .enabled(if: MountedFolder.isPossible, "only root can mount a small file system"),
    arguments: 0..<8)
  func onASmallFileSystemThatIsFullAnAccountIsErased(afterChanges count: Int) async throws {
    let folder = try MountedFolder(bytes: 6 << 20)
    let trial = try StorageTrial(in: folder.path) { $0.checkpointFrames = 30 }
    let text = String(repeating: "a secret ", count: 500)
    for number in 0..<20 { trial.set("\(number)", text) }
    #expect(await trial.flush() == nil)
    _ = try await trial.enqueue("a secret")
    await trial.waitForCheckpoint()
    try folder.fill()
    for number in 0..<count {
      trial.set("\(number)", String(text.reversed()))
      _ = await trial.flush()
    }
    try await trial.storage.erase()
    #expect(try trial.storage.outbox.entries().isEmpty)
    await trial.close()
    #expect(try await StorageTrial.texts(["0", "19"], in: folder.path).isEmpty)
    for name in ["cache.sqlite", "mutations.sqlite"] {
      let bytes = try Data(contentsOf: URL(filePath: "\(folder.path)/\(name)"))
      #expect(bytes.range(of: Data("a secret".utf8)) == nil, "\(name)")
    }
  }

  @Test(.enabled(if: MountedFolder.isPossible, "only root can mount a small file system"))
  func onASmallFileSystemThatIsFullEntriesAreEvicted() async throws {
    let folder = try MountedFolder(bytes: 6 << 20)
    let text = String(repeating: "x", count: 10_000)
    let trial = try StorageTrial(in: folder.path) { configuration in
      configuration.maximumEntries = 20
      configuration.checkpointFrames = 20
    }
    for number in 0..<20 {
      QueryClient(storage: trial.storage).store(for: NamedText(name: "\(number)").persisted())
        .currentValue = text
    }
    #expect(await trial.flush() == nil)
    await trial.waitForCheckpoint()
    // On a slow machine they are several commits, of which the last ones may be too small for one.
    await trial.checkpoint()
    try folder.fill()
    trial.set("newest", "small")
    #expect(await trial.flush() == nil)
    await trial.log.wait { if case .evicted = $0 { true } else { false } }
    #expect(trial.storage.statistics.evictions >= 3)
    await trial.close()
    #expect(try await StorageTrial.texts(["newest"], in: folder.path) == ["newest": "small"])
  }

  /// Its log has room for one commit, and the next one comes before a checkpoint is due.
  @Test(
    .enabled(if: MountedFolder.isPossible, "only root can mount a small file system"),
    arguments: 12...16, 5...6)
  func onASmallFileSystemThatIsFullAShortLogIsWrittenAgainFromItsBeginning(
    entries count: Int, first few: Int
  ) async throws {
    // Large enough that the log is not made longer before the disk is full.
    let folder = try MountedFolder(bytes: 80 << 20)
    let trial = try StorageTrial(in: folder.path) { $0.checkpointFrames = 10 }
    let names = (0..<count).map { "\($0)" }
    // Always of one length, so that no page is added.
    let text = { (round: Int) in String(repeating: "\(round % 10)", count: 2_000) }
    for name in names {
      trial.set(name, text(0))
      #expect(await trial.flush() == nil)
      await trial.waitForCheckpoint()
    }
    await trial.checkpoint()
    try folder.fill()
    for round in 1...10 {
      // The first of two is too small for a checkpoint to be due.
      let changed = round.isMultiple(of: 2) ? names[...] : names.prefix(few)
      for name in changed { trial.set(name, text(round)) }
      #expect(await trial.flush() == nil, "round \(round)")
    }
    #expect(!trial.storage.statistics.isDegraded)
    await trial.close()
    let texts = try await StorageTrial.texts(names, in: folder.path)
    #expect(texts == Dictionary(uniqueKeysWithValues: names.map { ($0, text(10)) }))
  }

  /// There is no room then even for the shm that SQLite makes beside each file.
  @Test(.enabled(if: MountedFolder.isPossible, "only root can mount a small file system"))
  func aLaunchOnAFullFileSystemShowsWhatIsThereAndSendsWhatWaits() async throws {
    let folder = try MountedFolder(bytes: 6 << 20)
    let first = try StorageTrial(in: folder.path)
    first.set("a", "text")
    let ids = try await [
      first.enqueue("first"), first.enqueue("second"),
    ]
    #expect(await first.close() == nil)
    try folder.fill()
    let trial = try StorageTrial(in: folder.path)
    #expect(await trial.text("a") == "text")
    let outbox = trial.storage.outbox
    #expect(try outbox.entries().map(\.id) == ids)
    let request = ClaimRequest(.lowest(handledBy: [OutboxScratch.handler]))
    let lease = try #require(try await outbox.claim(request).leases.first)
    #expect(try await outbox.settle(lease, OutboxScratch.success))
    let third = try await trial.enqueue("third")
    #expect(try outbox.entries().map(\.id) == [ids[1], third])
    // The outbox gives some room of its log to its shm, of which the cache may be fast enough to take enough for
    // its own.
    let isDegraded = trial.storage.statistics.isDegraded
    trial.set("b", "new")
    #expect(await trial.text("b") == "new")
    folder.makeRoom()
    if isDegraded { await trial.log.recovery() }
    #expect(await trial.flush() == nil)
    #expect(await trial.close() == nil)
    #expect(
      try await StorageTrial.texts(["a", "b"], in: folder.path) == ["a": "text", "b": "new"])
  }

  /// Its log, which is kept long for the next commits, gives some of its room to the shm: a backup brings
  /// the file and the log back without one.
  @Test(.enabled(if: MountedFolder.isPossible, "only root can mount a small file system"))
  func aLaunchOnAFullFileSystemSendsWithTheRoomThatTheLogHas() async throws {
    let folder = try MountedFolder(bytes: 6 << 20)
    // Of a process that is gone, nothing is freed later.
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      let trial = try StorageTrial(in: path)
      _ = try await trial.enqueue("first")
      guard await trial.close() == nil else { exit(1) }
    }
    try FileManager.default.removeItem(atPath: "\(folder.path)/mutations.sqlite-shm")
    let log = "\(folder.path)/mutations.sqlite-wal"
    let before = try #require(DatabaseFiles.system.size(of: log))
    try folder.fill()
    let trial = try StorageTrial(in: folder.path)
    let request = ClaimRequest(.lowest(handledBy: [OutboxScratch.handler]))
    let lease = try #require(try await trial.storage.outbox.claim(request).leases.first)
    #expect(try await trial.storage.outbox.settle(lease, OutboxScratch.success))
    let after = try #require(DatabaseFiles.system.size(of: log))
    #expect(0 < after && after < before)
    await trial.close()
  }

  /// The log has commits that are in no other file.
  @Test(.enabled(if: MountedFolder.isPossible, "only root can mount a small file system"))
  func aLaunchOnAFullFileSystemLeavesALogWithCommitsAsItIs() async throws {
    let folder = try MountedFolder(bytes: 6 << 20)
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder.path as String] in
      let trial = try StorageTrial(in: path)
      _ = try await trial.enqueue("first")
      _ = withExtendedLifetime(trial) { kill(getpid(), SIGKILL) }
    }
    try FileManager.default.removeItem(atPath: "\(folder.path)/mutations.sqlite-shm")
    let log = "\(folder.path)/mutations.sqlite-wal"
    let before = try #require(DatabaseFiles.system.size(of: log))
    #expect(try DatabaseFiles.logMayHaveFrames(log))
    try folder.fill()
    let trial = try StorageTrial(in: folder.path)
    let request = ClaimRequest(.lowest(handledBy: [OutboxScratch.handler]))
    await #expect(throws: StorageError.self) { try await trial.storage.outbox.claim(request) }
    #expect(DatabaseFiles.system.size(of: log) == before)
    folder.makeRoom()
    #expect(try await trial.storage.outbox.claim(request).leases.count == 1)
    await trial.close()
  }

  /// The log must not take the room that is made: the file could not grow then, nor the log be emptied.
  @Test(
    .enabled(if: MountedFolder.isPossible, "only root can mount a small file system"),
    .timeLimit(.minutes(10)))
  func onASmallFileSystemThatWasFullWhatWaitsIsSentWithWhatRoomThereIs() async throws {
    let folder = try MountedFolder(bytes: 6 << 20)
    let scratch = try OutboxScratch(in: TemporaryFolder(path: folder.path))
    try await scratch.add("first")
    try folder.fill()
    let text = String(repeating: "x", count: 200)
    await #expect(throws: StorageError.self) {
      while true { try await scratch.add(text) }
    }
    let waiting = try scratch.outbox.counts.pending
    folder.makeRoom()
    // With its commits this is several times what there is room for.
    var sent = 0
    while sent < waiting {
      do {
        for lease in try await scratch.claim(1) {
          _ = try await scratch.outbox.settle(lease, OutboxScratch.success)
          sent += 1
        }
      } catch let error as StorageError where error.code == .full {
        try await Task.sleep(for: .milliseconds(20))
      }
    }
    #expect(try scratch.outbox.counts.pending == 0)
    try await scratch.storage.close()
  }
}
