import Dispatch
import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Persistence §8: a file that is damaged is set aside, and a new one takes its place.
// One after another: each storage watches its folder, and of watches a user has 128.
@Suite(.serialized) struct DamagedFileTests {
  /// What is wrong with a file, as a change of its bytes.
  struct Damage: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let edit: @Sendable (inout Data) -> Void

    init(_ description: String, _ edit: @escaping @Sendable (inout Data) -> Void) {
      self.testDescription = description
      self.edit = edit
    }
  }

  private static let short = [1, 15, 16, 99, 100, 511].map { count in
    Damage("\(count) bytes of garbage") { $0 = Data(repeating: 0x5A, count: count) }
  }

  private static let damages =
    short + [
      Damage("a page of garbage") { $0 = Data(repeating: 0x5A, count: 4_096) },
      Damage("a garbage header") { $0.replaceSubrange(0..<100, with: Data(count: 100)) },
      Damage("a garbage magic") { $0[3] ^= 0xFF },
      Damage("truncated in its first page") { $0 = $0.prefix(1_000) },
      Damage("truncated to its half") { $0 = $0.prefix($0.count / 8_192 * 4_096) },
      Damage("the schema page is garbage") { bytes in
        bytes.replaceSubrange(100..<4_096, with: Data(repeating: 0xA5, count: 3_996))
      },
      Damage("the kind of the schema page") { $0[100] ^= 0xFF },
      Damage("the kind of all other pages") { bytes in
        for page in stride(from: 4_096, to: bytes.count, by: 4_096) { bytes[page] ^= 0xFF }
      },
      Damage("all other pages are zeros") { bytes in
        bytes.replaceSubrange(4_096..., with: Data(count: bytes.count - 4_096))
      },
    ]

  @Test(arguments: damages)
  func aDamagedFileIsSetAsideAndANewOneWorks(_ damage: Damage) async throws {
    let folder = try TemporaryFolder()
    let first = try StorageTrial(in: folder.path)
    for number in 0..<50 { first.set("\(number)", String(repeating: "x", count: 2_000)) }
    #expect(await first.close() == nil)
    let url = URL(filePath: "\(folder.path)/cache.sqlite")
    var bytes = try Data(contentsOf: url)
    damage.edit(&bytes)
    try bytes.write(to: url)
    let trial = try StorageTrial(in: folder.path)
    for number in 0..<50 {
      let text = await trial.text("\(number)")
      #expect(text == nil || text?.count == 2_000)
      trial.set("\(number)", "new \(number)")
    }
    #expect(await trial.flush() == nil)
    #expect(!trial.storage.statistics.isDegraded)
    await trial.close()
    let aside = try FolderContents.setAside("corrupt", in: folder.path)
    #expect(aside.count == 1, "\(aside)")
    if let name = aside.first { #expect(try self.contents(of: name, in: folder) == bytes) }
    let texts = try await StorageTrial.texts((0..<50).map { "\($0)" }, in: folder.path)
    #expect(texts.count == 50 && texts.allSatisfy { $1 == "new \($0)" })
  }

  /// What the file had of them would be gone at the next launch, though people see it, and were told that
  /// it is written.
  @Test func whatLivingStoresShowGoesIntoTheNewFile() async throws {
    let folder = try TemporaryFolder()
    let names = (0..<40).map { "\($0)" }
    let first = try StorageTrial(in: folder.path)
    for name in names { first.set(name, "\(name) " + String(repeating: "x", count: 2_000)) }
    #expect(await first.close() == nil)
    let trial = try StorageTrial(in: folder.path)
    let shown = names.map(trial.store)
    for (name, store) in zip(names, shown) {
      await store.hydrated()
      #expect(store.currentValue?.hasPrefix("\(name) ") == true)
    }
    for name in names.suffix(10) { trial.set(name, "\(name) flushed") }
    #expect(await trial.flush() == nil)
    await trial.waitForCheckpoint()
    try Self.damageAllPagesButTheFirst(of: "\(folder.path)/cache.sqlite")
    trial.set("0", "0 new")
    shown[1].invalidate()
    shown[2].reset()
    #expect(await trial.flush() == nil)
    await trial.close()
    #expect(try FolderContents.setAside("corrupt", in: folder.path).count == 1)
    let next = try StorageTrial(in: folder.path)
    for name in names {
      let text = await next.text(name)
      if name == "2" { #expect(text == nil) } else { #expect(text?.hasPrefix("\(name) ") == true) }
    }
    #expect(await next.text("0") == "0 new")
    #expect(await next.text("39") == "39 flushed")
    let isInvalidated = names.filter { next.store($0).state.isInvalidated }
    #expect(isInvalidated == ["1"])
    await next.close()
    withExtendedLifetime(shown) {}
  }

  /// The one of another client finds the damage, and has nothing to hand over.
  @Test func aValueThatALivingStoreShowsIsWrittenInThePlaceOfItsDamagedBytes() async throws {
    let folder = try TemporaryFolder()
    let trial = try StorageTrial(in: folder.path)
    trial.set("a", "a")
    trial.set("b", "b")
    #expect(await trial.flush() == nil)
    let connection = try DatabaseOpener(kind: .cache, folder: folder.path).openWriter()
    try connection.write { try connection.execute("UPDATE entries SET value = x'22'") }
    try connection.close()
    #expect(await trial.text("a") == nil)
    await trial.log.wait { if case .quarantined = $0 { true } else { false } }
    #expect(await trial.flush() == nil)
    #expect(await trial.text("a") == "a")
    await trial.close()
    let texts = try await StorageTrial.texts(["a", "b"], in: folder.path)
    // Nobody has read the other one.
    #expect(texts == ["a": "a"])
  }

  /// Its value is in a page, which a confirmation does not write.
  @Test func aDamagedValueThatWasConfirmedIsWrittenAnew() async throws {
    let folder = try TemporaryFolder()
    let text = String(repeating: "x", count: 5_000)
    let first = try StorageTrial(in: folder.path)
    for _ in 0..<2 {
      first.set("a", text)
      #expect(await first.flush() == nil)
    }
    await first.close()
    let connection = try DatabaseOpener(kind: .cache, folder: folder.path).openWriter()
    #expect(try connection.pragma("SELECT count(*) FROM confirmations") == "1")
    try connection.write {
      try connection.execute(
        "UPDATE pages SET value = CAST(substr(value, 1, 5000) || x'7922' AS BLOB)")
    }
    try connection.close()
    let second = try StorageTrial(in: folder.path)
    #expect(await second.text("a") == nil)
    second.set("a", text)
    #expect(await second.flush() == nil)
    #expect(second.storage.statistics.quarantined == 1)
    await second.close()
    #expect(try await StorageTrial.texts(["a"], in: folder.path) == ["a": text])
  }

  @Test func eachOfTwoWhoFlushWaitsForWhatIsHandedOverAgain() async throws {
    let folder = try TemporaryFolder()
    let trial = try StorageTrial(in: folder.path)
    let order = Recorder<String>()
    let gate = DispatchSemaphore(value: 0)
    trial.storage.database.handOverAgain {
      gate.wait()
      order.append("handed over")
    }
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<2 {
        group.addTask {
          #expect(await trial.flush() == nil)
          order.append("flushed")
        }
      }
      // Their own commits are made by then.
      for _ in 0..<100 { await trial.waitForCheckpoint() }
      gate.signal()
    }
    #expect(order.elements == ["handed over", "flushed", "flushed"])
    await trial.close()
  }

  private static func damageAllPagesButTheFirst(of path: String) throws {
    let file = try #require(FileHandle(forUpdatingAtPath: path))
    let size = try file.seekToEnd()
    try file.seek(toOffset: 4_096)
    try file.write(contentsOf: Data(repeating: 0xA5, count: Int(size) - 4_096))
    try file.close()
  }

  /// Another process may have written a newer one to the new file.
  @Test func whatIsHandedOverAgainReplacesNothing() async throws {
    let folder = try TemporaryFolder()
    let trial = try StorageTrial(in: folder.path) { $0.followsOtherProcesses = false }
    let identity = QueryIdentity(canonicalText: #"["notes","other",1]"#)
    let query = NamedText(name: "a").persisted(PersistenceOptions(identity: identity))
    let store = trial.client.store(for: query)
    store.currentValue = "older"
    #expect(await trial.flush() == nil)
    let worker = try WorkerProcess("write", folder.path, "other", "1", "1", "10", "1")
    #expect(await worker.finish().code == 0)
    trial.storage.database.handOverAgain()
    #expect(await trial.flush() == nil)
    let connection = try DatabaseOpener(kind: .cache, folder: folder.path).openWriter()
    let values = try connection.rows("SELECT CAST(value AS TEXT) FROM entries") {
      try $0.text(at: 0)
    }
    #expect(values.count == 1 && values[0].contains("other/1/1"), "\(values)")
    try connection.close()
    await trial.close()
    #expect(store.currentValue == "older")
  }

  private func contents(of name: String, in folder: TemporaryFolder) throws -> Data {
    try Data(contentsOf: URL(filePath: "\(folder.path)/\(name)"))
  }

  @Test func whoAsksForEventsAfterAFileWasSetAsideIsToldOfIt() async throws {
    let folder = try TemporaryFolder()
    try Data(repeating: 1, count: 300).write(to: URL(filePath: "\(folder.path)/cache.sqlite"))
    let trial = try StorageTrial(in: folder.path)
    let event = await trial.log.wait(\.isSetAside)
    let aside = try FolderContents.setAside("corrupt", in: folder.path)
    guard case .setAside(let name, let reason) = event else { return }
    #expect([name] == aside)
    #expect(reason.code == .notADatabase)
    await trial.close()
  }

  @Test func atMostTwoDamagedFilesAreKept() async throws {
    let folder = try TemporaryFolder()
    for round in 1...4 {
      let garbage = Data(repeating: UInt8(round), count: 300)
      try garbage.write(to: URL(filePath: "\(folder.path)/cache.sqlite"))
      let trial = try StorageTrial(in: folder.path)
      trial.set("a", "\(round)")
      #expect(await trial.close() == nil)
      #expect(try await StorageTrial.texts(["a"], in: folder.path) == ["a": "\(round)"])
    }
    let kept = try FolderContents.setAside("corrupt", in: folder.path)
    #expect(Set(try kept.map { try self.contents(of: $0, in: folder).first }) == [3, 4])
  }

  @Test func theLogGoesWithTheFile() async throws {
    let crashed = try TemporaryFolder()
    let source = try TemporaryFolder()
    let first = try StorageTrial(in: source.path)
    first.set("a", "in the log")
    #expect(await first.flush() == nil)
    try FolderContents.copy(source.path, to: crashed.path)
    await first.close()
    let url = URL(filePath: "\(crashed.path)/cache.sqlite")
    let log = try Data(contentsOf: URL(filePath: url.path + "-wal"))
    #expect(log.count > 4_096)
    try Data(repeating: 7, count: 200).write(to: url)
    let trial = try StorageTrial(in: crashed.path)
    trial.set("b", "new")
    #expect(await trial.close() == nil)
    let name = try #require(try FolderContents.setAside("corrupt", in: crashed.path).first)
    #expect(try self.contents(of: name + "-wal", in: crashed) == log)
    #expect(try await StorageTrial.texts(["a", "b"], in: crashed.path) == ["b": "new"])
  }

  // MARK: - While it is open

  @Test(arguments: [Int32(11), 26, 267])
  func damageThatAReadFindsIsSetAsideWhileStoresLive(_ result: Int32) async throws {
    let folder = try TemporaryFolder()
    let vfs = FaultVFS()
    let trial = try StorageTrial(in: folder.path, vfs: vfs)
    let old = String(repeating: "o", count: 20_000)
    trial.set("old", old)
    #expect(await trial.flush() == nil)
    await trial.waitForCheckpoint()
    vfs.damage("\(folder.path)/cache.sqlite", noticedBy: .read, with: result)
    // By this read, or by one of the storage's own before it.
    _ = await trial.text("old")
    let event = await trial.log.wait(\.isSetAside)
    guard case .setAside(let name, let reason) = event else { return }
    #expect(reason.isDamage)
    #expect(try FolderContents.setAside("corrupt", in: folder.path) == [name])
    trial.set("new", "new")
    #expect(await trial.flush() == nil)
    #expect(!trial.storage.statistics.isDegraded)
    await trial.close()
    let texts = try await StorageTrial.texts(["old", "new"], in: folder.path)
    // The store that shows it lives.
    #expect(texts == ["old": old, "new": "new"])
  }

  @Test func damageThatAWriteFindsIsSetAsideAndWhatWaitsGoesIntoTheNewFile() async throws {
    let folder = try TemporaryFolder()
    let vfs = FaultVFS()
    let trial = try StorageTrial(in: folder.path, vfs: vfs)
    trial.set("old", "old")
    #expect(await trial.flush() == nil)
    await trial.waitForCheckpoint()
    vfs.damage("\(folder.path)/cache.sqlite", noticedBy: .write, with: 11)
    trial.set("a", "a")
    trial.set("b", "b")
    #expect(await trial.flush() == nil)
    await trial.log.wait(\.isSetAside)
    #expect(trial.log.health == [])
    await trial.close()
    let texts = try await StorageTrial.texts(["old", "a", "b"], in: folder.path)
    #expect(texts == ["old": "old", "a": "a", "b": "b"])
  }

  @Test func damageThatIsNotSeenASecondTimeCostsNothing() async throws {
    let folder = try TemporaryFolder()
    let vfs = FaultVFS()
    let trial = try StorageTrial(in: folder.path, vfs: vfs)
    trial.set("old", "old")
    #expect(await trial.flush() == nil)
    await trial.waitForCheckpoint()
    vfs.fail(.write, nth: 1, with: 11)
    trial.set("a", "a")
    #expect(await trial.flush() == nil)
    await trial.close()
    #expect(try FolderContents.setAside("corrupt", in: folder.path) == [])
    let texts = try await StorageTrial.texts(["old", "a"], in: folder.path)
    #expect(texts == ["old": "old", "a": "a"])
  }

  /// A storage with a change that waits, whose file is noticed to be damaged by the next write, and the lock of
  /// another process that uses it.
  private func trialOfADamagedFileInUse(
    in folder: TemporaryFolder
  ) async throws -> (StorageTrial, FileLock) {
    let vfs = FaultVFS()
    let trial = try StorageTrial(in: folder.path, vfs: vfs)
    trial.set("old", "old")
    #expect(await trial.flush() == nil)
    let other = FileLock(kind: .cache, folder: folder.path)
    try other.lockShared()
    await trial.waitForCheckpoint()
    vfs.damage("\(folder.path)/cache.sqlite", noticedBy: .write, with: 11)
    trial.set("new", "new")
    return (trial, other)
  }

  @Test func aFileThatAnotherProcessUsesIsSetAsideAfterThat() async throws {
    let folder = try TemporaryFolder()
    let (trial, other) = try await self.trialOfADamagedFileInUse(in: folder)
    #expect(await trial.flush() != nil)
    await trial.log.degradation()
    // Nothing hangs: stores that are made now have what waits, or nothing.
    #expect(await trial.text("new") == "new")
    #expect(await trial.text("old") == nil)
    #expect(try await trial.store("fetched").fetch() == "fetched")
    #expect(try FolderContents.setAside("corrupt", in: folder.path) == [])
    other.unlock()
    await trial.log.recovery()
    #expect(await trial.flush() == nil)
    #expect(trial.log.events.contains { $0.isSetAside })
    await trial.close()
    let texts = try await StorageTrial.texts(["old", "new", "fetched"], in: folder.path)
    #expect(texts == ["old": "old", "new": "new", "fetched": "fetched"])
  }

  /// Between the two the thread may have work of its own, and the file takes a write again.
  @Test func theFailureOfACallersCommitIsHandledBeforeTheNextCommit() async throws {
    let folder = try TemporaryFolder()
    let (trial, other) = try await self.trialOfADamagedFileInUse(in: folder)
    await trial.commitAsCallerAndThenOnTheThread()
    try #require(trial.storage.database.health.isRetryPending)
    #expect(await trial.text("new") == "new")
    other.unlock()
    await trial.log.recovery()
    #expect(await trial.flush() == nil)
    await trial.close()
    #expect(try await StorageTrial.texts(["new"], in: folder.path) == ["new": "new"])
  }

  @Test func aFileThatIsDamagedAtOpeningWaitsForTheOtherProcess() async throws {
    let folder = try TemporaryFolder()
    try Data(repeating: 1, count: 300).write(to: URL(filePath: "\(folder.path)/cache.sqlite"))
    let other = FileLock(kind: .cache, folder: folder.path)
    try other.lockShared()
    let trial = try StorageTrial(in: folder.path)
    #expect(trial.storage.statistics.isDegraded)
    trial.set("a", "text")
    #expect(try FolderContents.setAside("corrupt", in: folder.path) == [])
    other.unlock()
    await trial.log.recovery()
    #expect(await trial.flush() == nil)
    #expect(try FolderContents.setAside("corrupt", in: folder.path).count == 1)
    await trial.close()
    #expect(try await StorageTrial.texts(["a"], in: folder.path) == ["a": "text"])
  }
}
