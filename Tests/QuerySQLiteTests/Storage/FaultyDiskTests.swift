import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// Persistence §8: each operation on the disk fails in turn, once or from then on, while a storage
/// works. It does not crash, does not hang, tells, tells no lie, and works again by itself.
@Suite struct FaultyDiskTests {
  /// In how many places of the workload a disk fails; in all of them in the full run.
  private static let places = ProcessInfo.processInfo.environment["FULL"] == nil ? 3 : Int.max

  /// What fails, and how SQLite is told.
  struct Fault: CustomTestStringConvertible, Sendable {
    let name: String
    let operation: FaultVFS.Operations
    let result: Int32
    /// How many pages the log may have.
    var frames = 4

    var testDescription: String { "\(self.name) \(self.result)" }

    /// Whether the file is said to be damaged, so that it is replaced.
    var isDamage: Bool { self.result == 11 }
  }

  private static let faults = [
    Fault(name: "read", operation: .read, result: 266),
    Fault(name: "read", operation: .read, result: 11),
    Fault(name: "write", operation: .write, result: 778),
    Fault(name: "write", operation: .write, result: 13),
    Fault(name: "grow", operation: .grow, result: 13),
    Fault(name: "sync", operation: .sync, result: 1_034),
    Fault(name: "truncate", operation: .truncate, result: 1_546),
    Fault(name: "open", operation: .open, result: 14),
    Fault(name: "open", operation: .open, result: 10),
    Fault(name: "delete", operation: .delete, result: 2_570),
  ]

  @Test(arguments: faults)
  func whatFailsOnceCostsNothingThatWasFlushed(_ fault: Fault) async throws {
    for nth in try await self.places(of: fault) {
      let run = try await self.run(fault, nth: nth, isPersistent: false)
      try await self.expectRecovery(run, fault, "\(fault.name) \(nth)")
    }
  }

  @Test(arguments: faults)
  func whatFailsFromThenOnCostsNothingThatWasFlushed(_ fault: Fault) async throws {
    for nth in try await self.places(of: fault) {
      let run = try await self.run(fault, nth: nth, isPersistent: true)
      try await self.expectRecovery(run, fault, "\(fault.name) from \(nth) on")
    }
  }

  @Test(arguments: faults.filter { !$0.isDamage })
  func theNextLaunchFindsWhatWasFlushedBeforeTheDiskFailed(_ fault: Fault) async throws {
    for nth in try await self.places(of: fault) {
      let run = try await self.run(fault, nth: nth, isPersistent: true)
      await run.trial.close()
      run.vfs.disarm()
      try await self.expectNoLie(run, "\(fault.name) from \(nth) on, closed")
    }
  }

  // MARK: - A run

  /// What a workload has come to.
  private struct Run {
    let folder: TemporaryFolder
    let vfs: FaultVFS
    let trial: StorageTrial
    /// All texts that a name had, in their order; nil for a removal.
    var texts = [String: [String?]]()
    /// How many of them are surely written.
    var flushed = [String: Int]()
    /// What the flushes have said.
    var failures = [StorageError]()
  }

  private static let names = ["a", "b", "c", "d", "e"]

  /// The calls that shall fail: all of them, or a few from the first to the last.
  private func places(of fault: Fault) async throws -> [Int] {
    let run = try await self.run(fault, nth: .max, isPersistent: false)
    let count = run.vfs.count(fault.operation)
    await run.trial.close()
    let step = max(1, count / Self.places)
    return Array(stride(from: 1, through: max(count, 1), by: step))
  }

  private func run(_ fault: Fault, nth: Int, isPersistent: Bool) async throws -> Run {
    let vfs = FaultVFS()
    let folder = try TemporaryFolder()
    vfs.fail(fault.operation, nth: nth, persistently: isPersistent, with: fault.result)
    let trial = try StorageTrial(in: folder.path, vfs: vfs) { configuration in
      configuration.checkpointFrames = fault.frames
    }
    var run = Run(folder: folder, vfs: vfs, trial: trial)
    for round in 1...3 {
      for name in Self.names {
        let text = "\(name)\(round)" + String(repeating: ".", count: 3_000)
        trial.set(name, text)
        run.texts[name, default: []].append(text)
        // What waits is found, or nothing; never what was before.
        let found = await trial.text(name)
        #expect(found == nil || found == text, "\(fault.name) \(nth)")
        if name == "c" { await self.flush(&run) }
      }
      if round == 2 {
        trial.store("d").reset()
        run.texts["d", default: []].append(nil)
      }
      await self.flush(&run)
    }
    return run
  }

  private func flush(_ run: inout Run) async {
    if let failure = await run.trial.flush() {
      run.failures.append(failure)
    } else {
      run.flushed = run.texts.mapValues { $0.count - 1 }
    }
  }

  // MARK: - What is promised

  private func expectRecovery(_ run: Run, _ fault: Fault, _ comment: Comment) async throws {
    run.vfs.disarm()
    await run.trial.recover()
    #expect(await run.trial.flush() == nil, comment)
    #expect(!run.trial.storage.statistics.isDegraded, comment)
    // Reported, though perhaps not read from the stream yet.
    if !run.failures.isEmpty && !fault.isDamage { await run.trial.log.wait(\.isDegraded) }
    #expect(run.trial.log.isConsistent, "\(comment): \(run.trial.log.events)")
    // Of a file that was replaced, only what comes after that is kept.
    if fault.isDamage {
      for name in Self.names { run.trial.set(name, "\(name) again") }
      #expect(await run.trial.flush() == nil, comment)
    }
    await run.trial.close()
    let texts = try await StorageTrial.texts(Self.names, in: run.folder.path)
    for name in Self.names {
      let expected = fault.isDamage ? "\(name) again" : run.texts[name]?.last ?? nil
      #expect(texts[name] == expected, "\(comment), \(name)")
    }
    try self.expectIntact(run.folder, comment)
  }

  /// Each entry is what was flushed last, or whole what came after it.
  private func expectNoLie(_ run: Run, _ comment: Comment) async throws {
    let found = try await StorageTrial.texts(Self.names, in: run.folder.path)
    for name in Self.names {
      let texts = run.texts[name] ?? []
      let possible = run.flushed[name].map { Array(texts[$0...]) } ?? texts + [nil]
      #expect(possible.contains(found[name]), "\(comment), \(name)")
    }
    try self.expectIntact(run.folder, comment)
  }

  private func expectIntact(_ folder: TemporaryFolder, _ comment: Comment) throws {
    let connection = try DatabaseOpener(.cache, in: folder).openWriter()
    #expect(try connection.pragma("PRAGMA integrity_check") == "ok", comment)
    try connection.close()
  }
}
