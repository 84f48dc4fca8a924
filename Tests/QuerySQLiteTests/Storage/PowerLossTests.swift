import Foundation
import Query
import Testing

@testable import QuerySQLite

/// Persistence §5 and §8: after a power cut the file is intact, and has what was committed up to the
/// last checkpoint; with `cacheDurability` full, all that was flushed.
@Suite struct PowerLossTests {
  private static let names = (0..<12).map { "\($0)" }

  /// Flushes a text after another, and cuts the power after each flush.
  ///
  /// - Returns: How many of the texts that were flushed each launch after a cut has found.
  private func cuts(
    _ edit: (inout SQLiteQueryStorage.Configuration) -> Void
  ) async throws -> [Int] {
    let folder = try TemporaryFolder()
    let vfs = FaultVFS()
    vfs.rememberSyncs()
    let trial = try StorageTrial(in: folder.path, vfs: vfs, edit: edit)
    var found = [Int]()
    for (index, name) in Self.names.enumerated() {
      trial.set(name, "\(name) " + String(repeating: "x", count: 5_000))
      #expect(await trial.flush() == nil)
      let left = try TemporaryFolder()
      #expect(vfs.writeSynced(to: left.path))
      let connection = try DatabaseOpener(.cache, in: left).openWriter()
      #expect(try connection.pragma("PRAGMA integrity_check") == "ok")
      try connection.close()
      #expect(try FolderContents.setAside("corrupt", in: left.path) == [])
      let texts = try await StorageTrial.texts(Self.names, in: left.path)
      // What was committed first is there first, and whole.
      for kept in Self.names.prefix(texts.count) {
        #expect(texts[kept] == "\(kept) " + String(repeating: "x", count: 5_000))
      }
      #expect(texts.count <= index + 1)
      found.append(texts.count)
    }
    await trial.close()
    return found
  }

  @Test func whatWasCheckpointedSurvivesAPowerCut() async throws {
    let found = try await self.cuts { $0.checkpointFrames = 0 }
    // Each commit is checkpointed at once; where a reader is in the way, with the next one.
    #expect(found.enumerated().allSatisfy { $1 >= $0 })
    #expect(found == found.sorted())
    #expect(found.contains { $0 > 0 })
  }

  @Test func aPowerCutCostsWhatWasCommittedSinceTheLastCheckpointAndNoMore() async throws {
    let found = try await self.cuts { $0.checkpointFrames = 12 }
    // At each cut what the checkpoint before has kept, and later more.
    #expect(found == found.sorted())
    #expect((found.last ?? 0) > 0)
  }

  @Test func withFullDurabilityAPowerCutCostsNothingThatWasFlushed() async throws {
    let found = try await self.cuts { $0.cacheDurability = .full }
    #expect(found == Array(1...Self.names.count))
  }
}
