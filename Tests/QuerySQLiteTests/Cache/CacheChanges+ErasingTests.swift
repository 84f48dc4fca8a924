import Foundation
import Query
import TestSupport
import Testing

@testable import QuerySQLite

@Suite struct CacheChangesErasingTests {
  private let cache: CacheScratch

  init() throws { self.cache = try CacheScratch() }

  private static let secret = Data("a value that nobody may find again".utf8)

  private static func entry(_ copies: Int) -> StoredEntry {
    var entry = StoredEntry.sample(0)
    entry.content = .value(Data((0..<copies).flatMap { _ in Self.secret }))
    return entry
  }

  /// Whether the file or its WAL has the bytes. Only if no connection is open: reading a database
  /// file by hand drops the locks of this process.
  private static func isFound(_ bytes: Data, in path: String) -> Bool {
    ["", "-wal"].contains { suffix in
      guard let file = FileManager.default.contents(atPath: path + suffix) else { return false }
      return file.range(of: bytes) != nil
    }
  }

  @Test func noByteOfAValueIsLeft() throws {
    let connection = self.cache.connection
    let other = try CacheTables(partitionNamed: "b", on: connection)
    try connection.write {
      var changes = try other.begin()
      _ = try changes.write(.sample(1), identity: .sample(1))
      _ = try changes.finish()
    }
    for number in 0..<200 { try self.cache.write(Self.entry(number), .sample(number)) }
    for number in 0..<100 { try self.cache.change { _ = try $0.remove(.sample(number)) } }
    let page = StoredEntry.Page(id: Data(), value: Self.secret)
    try self.cache.write(.pages([page]), .sample(1))
    #expect(
      try self.cache.change {
        try $0.quarantine(.sample(199), revision: 200, .wrongChecksum, now: Date())
      })
    _ = try connection.checkpoint(.full)
    let before = try self.cache.tables.readPartition()
    try self.cache.change { try $0.eraseRows() }
    #expect(try self.cache.tables.readPartition().isErasing)
    try self.cache.tables.finishErasing()
    let after = try self.cache.tables.readPartition()
    #expect(!after.isErasing)
    #expect(after.epoch == before.epoch + 1)
    #expect(after.revision > before.revision)
    #expect(try self.cache.storedTotals() == "0 0")
    #expect(try connection.pragma("SELECT count(*) FROM quarantine") == "0")
    #expect(try connection.pragma("PRAGMA secure_delete") == "0")
    #expect(try connection.pragma("PRAGMA auto_vacuum") == "2")
    guard case .entry = try other.read(.sample(1)) else {
      Issue.record("another partition lost its entry")
      return
    }
    // The copies are what a crash now would leave.
    let copy = try TemporaryFolder()
    try Self.copy(self.cache.opener.path, to: copy)
    #expect(!Self.isFound(Self.secret, in: "\(copy.path)/cache.sqlite"))
    #expect(!Self.isFound(Data(#"["sample",17"#.utf8), in: "\(copy.path)/cache.sqlite"))
  }

  /// Copies the files by another process, whose descriptors are not this one's.
  private static func copy(_ path: String, to folder: TemporaryFolder) throws {
    try ChildProcess.run("/bin/cp", [path, "\(path)-wal", folder.path])
  }

  @Test func aReaderInTheWayIsBusyAndTheNextCallFinishes() throws {
    try self.cache.write(Self.entry(10), .sample(1))
    let reader = try self.cache.opener.openReader()
    try reader.read {
      _ = try CacheTables(partition: 1, on: reader).read(.sample(1))
      try self.cache.change { try $0.eraseRows() }
      let error = storageError { try self.cache.tables.finishErasing(patience: .zero) }
      #expect(error?.code == .busy)
      #expect(try self.cache.tables.readPartition().isErasing)
      #expect(try self.cache.connection.pragma("PRAGMA secure_delete") == "0")
    }
    try self.cache.tables.finishErasing()
    #expect(!(try self.cache.tables.readPartition().isErasing))
  }

  @Test func numbersGoOnWhereTheyWere() throws {
    try self.cache.write(.sample(1), .sample(1))
    try self.cache.change { changes in
      try changes.eraseRows()
      #expect(changes.epoch == 1)
      #expect(
        try changes.write(.sample(1), identity: .sample(1))
          == .inserted(revision: 3, bytes: 1_024 + 12))
    }
    #expect(try self.cache.storedTotals() == (try self.cache.countedTotals()))
  }
}
