import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Reliability, "damaged files": seeded byte flips and truncations of the file at rest. A storage opens
/// it or sets it aside, shows no value that is wrong, and works.
@Suite struct RandomDamageTests {
  /// A file is damaged with each, with 1 000 in the full run, with one alone if `SEED` is set.
  private static var seeds: [UInt64] {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["SEED"].flatMap({ UInt64($0) }) { return [seed] }
    return Array(1...(environment["FULL"] == nil ? 100 : 1_000))
  }

  private static let names = (0..<16).map { "\($0)" }

  private static func text(_ name: String) -> String {
    "\(name) " + String(repeating: "text \(name) ", count: 20 * ((Int(name) ?? 0) % 9 + 1))
  }

  @Test func aFileWithAnyDamageIsReadOrSetAsideAndNeverWrong() async throws {
    let folder = try TemporaryFolder()
    let first = try StorageTrial(in: folder.path)
    for name in Self.names { first.set(name, Self.text(name)) }
    #expect(await first.close() == nil)
    let sound = try Data(contentsOf: URL(filePath: "\(folder.path)/cache.sqlite"))
    for seed in Self.seeds {
      let damaged = Self.damage(sound, seed: seed)
      try await self.expectWorking(on: damaged, "seed \(seed)")
    }
  }

  private static func damage(_ sound: Data, seed: UInt64) -> Data {
    var generator = SeededGenerator(seed: seed)
    var bytes = sound
    if seed % 5 == 0 { return bytes.prefix(Int.random(in: 0..<bytes.count, using: &generator)) }
    // A third of them in the first page, with the schema.
    let end = seed % 3 == 0 ? 4_096 : bytes.count
    for _ in 0..<Int.random(in: 1...8, using: &generator) {
      let index = Int.random(in: 0..<end, using: &generator)
      bytes[index] ^= UInt8.random(in: 1...255, using: &generator)
    }
    return bytes
  }

  private func expectWorking(on bytes: Data, _ comment: Comment) async throws {
    let folder = try TemporaryFolder()
    let url = URL(filePath: "\(folder.path)/cache.sqlite")
    try bytes.write(to: url)
    let trial: StorageTrial
    do {
      trial = try StorageTrial(in: folder.path)
    } catch {
      // Its mark is what is damaged: it could be another program's, and is as it was.
      #expect(try Data(contentsOf: url) == bytes, comment)
      return
    }
    for name in Self.names {
      let found = await trial.text(name)
      #expect(found == nil || found == Self.text(name), comment)
    }
    // What these have found is dealt with first: a file that is set aside takes with it what was
    // committed meanwhile.
    _ = await trial.flush()
    for name in Self.names { trial.set(name, "new \(name)") }
    _ = await trial.flush()
    await trial.recover()
    #expect(await trial.flush() == nil, comment)
    await trial.close()
    let texts = try await StorageTrial.texts(Self.names, in: folder.path)
    // What has the mark of a newer version stays what it is.
    #expect(texts.allSatisfy { $1 == "new \($0)" || $1 == Self.text($0) }, comment)
    // A byte can make an entry look like another identity's, or a newer release's: it stays.
    #expect(texts.count >= Self.names.count - 1, comment)
  }
}
