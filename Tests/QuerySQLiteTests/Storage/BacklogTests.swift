import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// Persistence §5: what waits while nothing can be written is bounded, and the newest of it is kept.
@Suite struct BacklogTests {
  @Test func theNewestOfWhatWaitsIsWrittenInTheEnd() async throws {
    let folder = try TemporaryFolder()
    let vfs = FaultVFS()
    let trial = try StorageTrial(in: folder.path, vfs: vfs) { $0.maximumBacklogBytes = 1 << 20 }
    vfs.fail(.changes, nth: 1, persistently: true, with: 13)
    let names = (0..<50).map { "\($0)" }
    for name in names {
      trial.set(name, name + String(repeating: "x", count: 100_000))
      if name.hasSuffix("9") { #expect(await trial.flush() != nil) }
    }
    vfs.disarm()
    await trial.log.recovery()
    #expect(await trial.flush() == nil)
    await trial.close()
    let texts = try await StorageTrial.texts(names, in: folder.path)
    #expect(Set(texts.keys) == Set(names.suffix(10)))
  }

  private static let long = String(repeating: "x", count: 100_000)

  /// They have no bytes, so that nothing is gained without them.
  @Test func removalsAndInvalidationsStayWhateverElseWaits() async throws {
    let folder = try TemporaryFolder()
    let vfs = FaultVFS()
    let trial = try StorageTrial(in: folder.path, vfs: vfs) { $0.maximumBacklogBytes = 1 << 20 }
    for name in ["a", "b", "c", "d"] { trial.set(name, name) }
    #expect(await trial.flush() == nil)
    vfs.fail(.changes, nth: 1, persistently: true, with: 13)
    trial.store("a").reset()
    trial.store("b").invalidate()
    // It is dropped, and what was stored before is no newer.
    let invalidated = trial.store("c")
    invalidated.currentValue = Self.long
    invalidated.invalidate()
    for number in 0..<20 { trial.set("\(number)", Self.long) }
    withExtendedLifetime(invalidated) {}
    #expect(await trial.flush() != nil)
    vfs.disarm()
    await trial.log.recovery()
    #expect(await trial.flush() == nil)
    await trial.close()
    let next = try StorageTrial(in: folder.path)
    let stores = ["a", "b", "c", "d"].map(next.store)
    for store in stores { await store.hydrated() }
    #expect(stores.map(\.currentValue) == [nil, "b", "c", "d"])
    #expect(stores.map(\.state.isInvalidated) == [false, true, true, false])
    await next.close()
  }

  @Test func whatWaitsIsBoundedWhileNobodyTriesToWriteIt() async throws {
    let folder = try TemporaryFolder()
    let vfs = FaultVFS()
    let trial = try StorageTrial(in: folder.path, vfs: vfs) { configuration in
      configuration.maximumBacklogBytes = 1 << 20
      configuration.retryDelay = .seconds(30)
    }
    vfs.fail(.changes, nth: 1, persistently: true, with: 13)
    trial.set("first", "first")
    #expect(await trial.flush() != nil)
    for number in 0..<200 {
      trial.set("\(number)", "\(number)" + String(repeating: "x", count: 100_000))
    }
    // The storage's own thread does it. Some may always come since it has looked.
    while trial.storage.slots.all.reduce(0, { $0 + $1.waitingBytes }) > 5 << 20 {
      try await Task.sleep(for: .milliseconds(5))
    }
    vfs.disarm()
    #expect(await trial.flush() == nil)
    #expect(await trial.text("199")?.hasPrefix("199x") == true)
    #expect(await trial.text("0") == nil)
    await trial.close()
  }

  @Test func aTextThatIsReplacedWaitsOnce() async throws {
    let folder = try TemporaryFolder()
    let vfs = FaultVFS()
    let trial = try StorageTrial(in: folder.path, vfs: vfs) { $0.maximumBacklogBytes = 1 << 20 }
    vfs.fail(.changes, nth: 1, persistently: true, with: 13)
    trial.set("first", "first")
    for round in 0..<50 {
      trial.set("a", "\(round)" + String(repeating: "x", count: 100_000))
      if round % 10 == 9 { #expect(await trial.flush() != nil) }
    }
    vfs.disarm()
    await trial.log.recovery()
    #expect(await trial.flush() == nil)
    await trial.close()
    let texts = try await StorageTrial.texts(["first", "a"], in: folder.path)
    #expect(texts["first"] == "first" && texts["a"]?.hasPrefix("49x") == true)
  }
}
