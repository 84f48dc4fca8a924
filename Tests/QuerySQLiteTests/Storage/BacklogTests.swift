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
