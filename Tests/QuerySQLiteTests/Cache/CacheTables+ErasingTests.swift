import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

@Suite struct CacheTablesErasingTests {
  private let cache: CacheScratch

  init() throws { self.cache = try CacheScratch() }

  private static let secret = Data("a value that nobody may find again".utf8)

  private static func entry(_ copies: Int) -> StoredEntry {
    var entry = StoredEntry.sample(0)
    entry.content = .value(Data((0..<copies).flatMap { _ in Self.secret }))
    return entry
  }

  /// Whether the file or its WAL has the bytes. Only where no connection is open: reading a database
  /// file by hand drops the locks of this process.
  private static func isFound(_ bytes: Data, in path: String) -> Bool {
    ["", "-wal"].contains { suffix in
      guard let file = FileManager.default.contents(atPath: path + suffix) else { return false }
      return file.range(of: bytes) != nil
    }
  }

  /// The tables of the account, which has another number after it was erased.
  private func current() throws -> CacheTables {
    try #require(try CacheTables.existing(named: "", on: self.cache.connection))
  }

  @discardableResult
  private func begin() throws -> CacheTables {
    try self.cache.connection.write { try self.current().beginErasing() }
  }

  private func write(_ entry: StoredEntry, _ number: Int, in tables: CacheTables) throws {
    try self.cache.connection.write {
      var changes = try tables.begin()
      _ = try changes.write(entry, identity: .sample(number))
      _ = try changes.finish()
    }
  }

  @Test func noByteOfAValueIsLeft() throws {
    let connection = self.cache.connection
    let other = try CacheTables(partitionNamed: "b", on: connection)
    try self.write(.sample(1), 1, in: other)
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
    let tables = try self.begin()
    #expect(try tables.readPartition().isErasing)
    try tables.finishErasing()
    let after = try self.current().readPartition()
    #expect(!after.isErasing)
    #expect(after.epoch == before.epoch + 1)
    #expect(after.revision > before.revision)
    #expect(after.entryCount == 0 && after.byteCount == 0)
    #expect(try connection.pragma("SELECT count(*) FROM quarantine") == "0")
    #expect(try connection.pragma("SELECT count(*) FROM partitions") == "2")
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

  @Test func noByteIsLeftBetweenTheRowsOfOthers() throws {
    let connection = self.cache.connection
    let other = try CacheTables(partitionNamed: "b", on: connection)
    // Rows of both in each page, long ones and short ones, that grow, shrink and go, so that pages are
    // balanced again and again.
    for round in 0..<3 {
      for number in 0..<300 {
        let copies = (number * 37 + round * 11) % (number.isMultiple(of: 20) ? 400 : 30)
        try self.cache.write(Self.entry(copies + round), .sample(number))
        var entry = StoredEntry.sample(number)
        entry.content = .value(Data(repeating: 7, count: (copies + 3 * round) * 40))
        try self.write(entry, number, in: other)
      }
      for number in stride(from: round, to: 300, by: 3) {
        try self.cache.change { _ = try $0.remove(.sample(number)) }
      }
      _ = try connection.checkpoint(.restart)
    }
    // Another process, which has all pages in memory, and writes them after that.
    let second = try self.cache.opener.openWriter()
    let others = try CacheTables(partitionNamed: "b", on: second)
    let before = try self.entries(of: others)
    try self.begin().finishErasing()
    #expect(try self.entries(of: other) == before)
    try second.write {
      var changes = try others.begin()
      for number in 0..<300 {
        _ = try changes.write(.sample(number, count: 20), identity: .sample(number))
      }
      _ = try changes.finish()
    }
    _ = try second.checkpoint(.full)
    try second.close()
    #expect(try connection.pragma("PRAGMA integrity_check") == "ok")
    let copy = try TemporaryFolder()
    try Self.copy(self.cache.opener.path, to: copy)
    #expect(!Self.isFound(Self.secret, in: "\(copy.path)/cache.sqlite"))
  }

  private func entries(of tables: CacheTables) throws -> [CacheReading] {
    try (0..<300).map { try tables.read(.sample($0)) }
  }

  @Test func nothingIsFoundFromTheFirstCommitOnAndWhatIsWrittenThenStays() throws {
    for number in 0..<20 { try self.cache.write(.sample(number), .sample(number)) }
    let reader = try self.cache.opener.openReader()
    let known = CacheTables(partition: self.cache.tables.partition, on: reader)
    guard case .entry = try known.read(.sample(3)) else {
      Issue.record("it is not there")
      return
    }
    let tables = try self.begin()
    #expect(try known.read(.sample(3)) == .absent, "whoever still has the number")
    #expect(try tables.read(.sample(3)) == .absent)
    try self.write(.sample(3), 3, in: tables)
    try tables.finishErasing()
    guard case .entry = try tables.read(.sample(3)) else {
      Issue.record("it was written after the erasing had begun")
      return
    }
    #expect(try known.read(.sample(3)) == .absent)
    #expect(try self.cache.identities().count == 1)
    try reader.close()
  }

  @Test func eachStepDeletesAFewRowsAndAnotherConnectionFinishesIt() throws {
    for number in 0..<20 { try self.cache.write(.sample(number), .sample(number)) }
    let pages = (0..<30).map { StoredEntry.Page(id: Data([UInt8($0)]), value: Self.secret) }
    try self.cache.write(.pages(pages), .sample(20))
    #expect(
      try self.cache.change {
        try $0.quarantine(.sample(1), revision: 2, .wrongChecksum, now: Date())
      })
    let old = self.cache.tables.partition
    try self.begin()
    let connection = self.cache.connection
    func count() throws -> Int {
      let text = try connection.pragma(
        """
        SELECT (SELECT count(*) FROM entries) + (SELECT count(*) FROM pages)
          + (SELECT count(*) FROM quarantine)
        """)
      return text.flatMap { Int($0) } ?? 0
    }
    var left = try count()
    #expect(left == 51)
    // Killed after some steps.
    for _ in 0..<5 {
      let isDone = try connection.write { try self.current().deleteErased(old, .rows(7)) }
      #expect(try !isDone && left - count() == 7)
      left = try count()
    }
    let next = try self.cache.opener.openWriter()
    var steps = [Int]()
    try CacheTables(partitionNamed: "", on: next).finishErasing(stepRows: 7) {
      steps.append(left - (try count()))
      left = try count()
    }
    #expect(left == 0)
    #expect(steps.allSatisfy { $0 <= 7 })
    #expect(try !self.current().readPartition().isErasing)
    #expect(try connection.pragma("SELECT count(*) FROM partitions") == "1")
    try next.close()
  }

  @Test func aReaderInTheWayIsBusyAndTheNextCallFinishes() throws {
    try self.cache.write(Self.entry(10), .sample(1))
    let reader = try self.cache.opener.openReader()
    try reader.read {
      _ = try CacheTables(partition: 1, on: reader).read(.sample(1))
      let tables = try self.begin()
      let error = storageError { try tables.finishErasing(patience: .zero) }
      #expect(error?.code == .busy)
      #expect(try self.current().readPartition().isErasing)
      #expect(try self.cache.identities() == [], "the rows are gone all the same")
      #expect(try self.cache.connection.pragma("PRAGMA secure_delete") == "0")
    }
    try self.current().finishErasing()
    #expect(try !self.current().readPartition().isErasing)
    try reader.close()
  }

  @Test func numbersGoOnWhereTheyWere() throws {
    try self.cache.write(.sample(1), .sample(1))
    let tables = try self.begin()
    try self.cache.connection.write {
      var changes = try tables.begin()
      #expect(changes.epoch == 1)
      #expect(
        try changes.write(.sample(1), identity: .sample(1))
          == .inserted(revision: 3, bytes: 1_024 + 12))
      _ = try changes.finish()
    }
    let row = try tables.readPartition()
    #expect(row.entryCount == 1 && row.byteCount == 1_024 + 12)
    #expect(row.isNamed)
  }
}
