import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Databases as SQLite may have them and this library makes none: with pages of other sizes, and texts
/// in UTF-16.
// One after another: each outbox watches its folder, and of watches a user has 128.
@Suite(.serialized) struct OtherFormatTests {
  static let hasShell = ChildProcess.system("sqlite3") != nil
  static let formats = [
    "PRAGMA page_size = 512", "PRAGMA page_size = 65536", "PRAGMA encoding = 'UTF-16le'",
    "PRAGMA encoding = 'UTF-16be'",
  ]

  /// Writes a database anew in another format, as a person does with the shell.
  private static func convert(_ path: String, _ format: String) throws {
    let marks = ["application_id", "user_version", "auto_vacuum"].map {
      "echo \"PRAGMA \($0) = $(sqlite3 \"$1\" 'PRAGMA \($0)');\""
    }
    let script = """
      set -e -o pipefail
      { echo "$2;"; \(marks.joined(separator: "; ")); sqlite3 "$1" .dump; } \
        | sqlite3 -bail "$1.new"
      rm -f "$1-wal" "$1-shm"
      mv "$1.new" "$1"
      """
    try ChildProcess.run("/bin/bash", ["-c", script, "convert", path, format])
  }

  @Test(.enabled(if: Self.hasShell, "there is no shell of SQLite"), arguments: Self.formats)
  func anOutboxOfAnotherFormatIsUsedOrSaysThatItIsNot(_ format: String) async throws {
    let scratch = try OutboxScratch()
    var ids = Set([try await scratch.add("größer", lane: "läne")])
    for number in 0..<20 { ids.insert(try await scratch.add("\(number)")) }
    try await scratch.storage.close()
    try Self.convert(scratch.path, format)
    let bytes = Array(try Data(contentsOf: URL(filePath: scratch.path)))
    let next = try OutboxScratch(in: scratch.folder)
    #expect(Set(try next.outbox.entries(in: nil).map(\.id)) == ids)
    ids.insert(try await next.add("later"))
    // A process that is killed.
    let log = Array(try Data(contentsOf: URL(filePath: "\(next.path)-wal")))
    let file = Array(try Data(contentsOf: URL(filePath: next.path)))
    let leases = try await next.claim(30)
    #expect(leases.count == 22)
    for lease in leases {
      #expect(try await next.outbox.settle(lease, OutboxScratch.success))
    }
    try await next.storage.close()
    let killed = try await DamagedOutbox.open(file, log)
    #expect(Set(killed.texts.keys) == ids && killed.errors == [] && killed.dead.isEmpty)
    ids = Set(leases.map(\.entry.id)).subtracting([leases.last?.entry.id].compactMap { $0 })
    try await Self.expectNoSilence(bytes, ids)
  }

  /// What is damaged is salvaged as far as it can be, and nothing is lost without a word.
  private static func expectNoSilence(_ bytes: [UInt8], _ ids: Set<UUID>) async throws {
    var generator = SeededGenerator(seed: 5)
    let places =
      [20 * 8, 100 * 8]
      + (0..<6).map { _ in Int.random(in: 0..<bytes.count * 8, using: &generator) }
    for place in places {
      var damaged = bytes
      damaged[place / 8] ^= 1 << UInt8(place % 8)
      let outcome = try await DamagedOutbox.open(damaged, [])
      #expect(outcome.errors.count < 5, "bit \(place): \(outcome.errors)")
      let missing = ids.subtracting(outcome.texts.keys)
      #expect(
        missing.isEmpty || outcome.isSaid || outcome.dead.count >= missing.count,
        "bit \(place): \(missing.count) are missing")
    }
  }

  @Test(.enabled(if: Self.hasShell, "there is no shell of SQLite"), arguments: Self.formats)
  func aCacheOfAnotherFormatIsUsed(_ format: String) async throws {
    let folder = try TemporaryFolder()
    let first = try StorageTrial(in: folder.path)
    first.set("a", "größer")
    first.set("b", "text")
    #expect(await first.close() == nil)
    try Self.convert("\(folder.path)/cache.sqlite", format)
    let trial = try StorageTrial(in: folder.path)
    #expect(await trial.text("a") == "größer")
    trial.set("c", "new")
    #expect(await trial.close() == nil)
    #expect(!trial.log.events.contains { $0.isSetAside })
    let texts = try await StorageTrial.texts(["a", "b", "c"], in: folder.path)
    #expect(texts == ["a": "größer", "b": "text", "c": "new"])
  }

  @Test(arguments: Self.formats, DatabaseKind.allCases)
  func aStrangersDatabaseOfAnotherFormatIsRefusedAndStaysAsItWas(
    _ format: String, _ kind: DatabaseKind
  ) throws {
    let folder = try TemporaryFolder()
    let url = URL(filePath: "\(folder.path)/\(kind.fileName)")
    try Data().write(to: url)
    let connection = try SQLiteConnection(path: url.path)
    _ = try connection.rowsOfText(format)
    _ = try connection.rowsOfText("CREATE TABLE others (name TEXT)")
    _ = try connection.rowsOfText("INSERT INTO others VALUES ('größer')")
    try connection.close()
    let bytes = try Data(contentsOf: url)
    let error = storageError { _ = try SQLiteQueryStorage(directory: URL(filePath: folder.path)) }
    #expect(error?.message.contains("no \(kind) database of this library") == true)
    #expect(try Data(contentsOf: url) == bytes)
  }
}
