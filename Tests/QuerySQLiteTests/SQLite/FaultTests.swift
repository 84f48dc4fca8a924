import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// Every system call of a scripted workload fails once: there is no crash, no lie, and the next try
/// works.
@Suite struct FaultTests {
  private static let step = ProcessInfo.processInfo.environment["FULL"] == nil ? 3 : 1

  /// Opens, writes three rows in two transactions, checkpoints, writes again, and reads all.
  ///
  /// - Returns: The rows that were acknowledged.
  private func work(
    _ opener: DatabaseOpener,
    acknowledge: (String) -> Void
  ) throws -> [String] {
    let connection = try opener.openWriter()
    defer { try? connection.close() }
    for name in ["a", "b", "c"] {
      try connection.write { try connection.execute(PartitionRow.insert, name) }
      acknowledge(name)
      if name == "b" { _ = try connection.checkpoint(.restart) }
    }
    return try connection.rows("SELECT name FROM partitions ORDER BY id") { try $0.text(at: 0) }
  }

  @Test(arguments: [
    (FaultVFS.Operations.read, Int32(266)), (.write, 778), (.write, 13), (.sync, 1_034),
    (.truncate, 1_546), (.open, 14), (.delete, 2_570), (.grow, 13),
  ])
  func eachFailureIsToldAndSurvived(
    _ operation: FaultVFS.Operations,
    _ result: Int32
  ) throws {
    var nth = 1
    while true {
      let folder = try TemporaryFolder()
      let vfs = FaultVFS()
      let opener = DatabaseOpener(.cache, in: folder, vfs: vfs)
      var acknowledged = [String]()
      vfs.fail(operation, nth: nth, with: result)
      var error: (any Error)?
      do {
        let rows = try self.work(opener) { acknowledged.append($0) }
        #expect(rows == ["a", "b", "c"])
      } catch let failure {
        error = failure
      }
      let hasFailed = vfs.failures > 0
      vfs.disarm()
      if let error { #expect(Self.code(of: error) != nil, "\(operation) \(nth): \(error)") }
      let connection = try opener.openWriter()
      let kept = try connection.rows("SELECT name FROM partitions ORDER BY id") {
        try $0.text(at: 0)
      }
      // A commit that failed may be there or not; one that was acknowledged is.
      #expect(kept.starts(with: acknowledged), "\(operation) \(nth)")
      #expect(kept.count <= acknowledged.count + 1)
      #expect(try connection.pragma("PRAGMA integrity_check") == "ok")
      try connection.close()
      if !hasFailed { break }
      nth += Self.step
    }
    #expect(nth > 1 || operation == .truncate || operation == .delete)
  }

  @Test func afterAPowerCutWhatWasCommittedInFullIsThere() throws {
    for (durability, isKept) in [(DatabaseOpener.Durability.full, true), (.normal, false)] {
      let folder = try TemporaryFolder()
      let vfs = FaultVFS()
      vfs.rememberSyncs()
      var opener = DatabaseOpener(.mutations, in: folder, vfs: vfs)
      opener.durability = durability
      let connection = try opener.openWriter()
      _ = try connection.checkpoint(.full)
      try connection.write { try connection.execute(PartitionRow.insert, "a") }
      let left = try TemporaryFolder()
      #expect(vfs.writeSynced(to: left.path))
      let found = try DatabaseOpener(.mutations, in: left).openWriter()
      #expect(try found.pragma("PRAGMA integrity_check") == "ok")
      #expect(try found.pragma("SELECT count(*) FROM partitions") == (isKept ? "1" : "0"))
    }
  }

  private static func code(of error: any Error) -> StorageError.Code? {
    (error as? StorageError)?.code ?? (error as? OpeningFailure)?.error.code
  }
}
