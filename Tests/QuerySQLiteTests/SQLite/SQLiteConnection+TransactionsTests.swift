import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

@Suite struct SQLiteConnectionTransactionsTests {
  private let folder: TemporaryFolder

  init() throws { self.folder = try TemporaryFolder() }

  @Test func aWriteIsCommittedAsOne() throws {
    let connection = try SQLiteConnection.scratch(in: self.folder)
    let count = try connection.write {
      try connection.execute(Scratch.insert, "a")
      try connection.execute(Scratch.insert, "b")
      return try connection.texts().count
    }
    #expect(count == 2)
    #expect(try SQLiteConnection.scratch(in: self.folder).texts() == ["a", "b"])
  }

  @Test func aWriteThatThrowsIsUndone() throws {
    struct Stop: Error {}
    let connection = try SQLiteConnection.scratch(in: self.folder)
    #expect(throws: Stop.self) {
      try connection.write {
        try connection.execute(Scratch.insert, "a")
        throw Stop()
      }
    }
    #expect(try connection.texts() == [])
    try connection.write { try connection.execute(Scratch.insert, "b") }
    #expect(try connection.texts() == ["b"])
  }

  @Test func aReadSeesOneState() throws {
    let reader = try SQLiteConnection.scratch(in: self.folder)
    let writer = try SQLiteConnection.scratch(in: self.folder)
    try reader.read {
      #expect(try reader.texts() == [])
      try writer.write { try writer.execute(Scratch.insert, "a") }
      #expect(try reader.texts() == [])
    }
    #expect(try reader.texts() == ["a"])
  }

  @Test func aWriteIsImmediateSoNoSnapshotIsStaleInIt() throws {
    let first = try SQLiteConnection.scratch(in: self.folder)
    let second = try SQLiteConnection.scratch(in: self.folder)
    second.busyHandler.patience = .limited(.zero)
    try first.write {
      // The lock is held before anything is written.
      let error = storageError { try second.write { _ = Issue.record("it has the lock") } }
      #expect(error?.code == .busy)
      #expect(error?.operation == "step")
      let texts = try first.texts()
      #expect(texts == [])
    }
    // What `BEGIN` alone would come to: a read, another's commit, then a write.
    try second.pragma("BEGIN")
    #expect(try second.pragma("SELECT count(*) FROM texts") == "0")
    try first.write { try first.execute(Scratch.insert, "a") }
    let error = #expect(throws: StorageError.self) {
      try second.pragma("INSERT INTO texts (text) VALUES ('b')")
    }
    #expect(error?.extendedCode == .busySnapshot)
    // A transaction that somebody left open is undone before the next one.
    try second.write { try second.execute(Scratch.insert, "c") }
    #expect(try first.texts() == ["a", "c"])
  }

  @Test func theFirstErrorIsTheOneThatIsThrown() throws {
    let vfs = FaultVFS()
    var options = SQLiteConnection.Options()
    options.vfs = vfs.name
    let connection = try SQLiteConnection.scratch(in: self.folder, options: options)
    vfs.fail(.write, nth: 1, persistently: true, with: 778)
    let error = #expect(throws: StorageError.self) {
      try connection.write { try connection.execute(Scratch.insert, "a") }
    }
    #expect(error?.code == .inputOutput)
    #expect(error?.extendedCode.rawValue == 778)
    #expect(error?.sql == "COMMIT")
    vfs.disarm()
    #expect(try connection.texts() == [])
    try connection.write { try connection.execute(Scratch.insert, "b") }
    #expect(try connection.texts() == ["b"])
  }

  @Test func afterAnErrorThatUndidTheTransactionNothingMoreIsWritten() throws {
    let vfs = FaultVFS()
    var options = SQLiteConnection.Options()
    options.vfs = vfs.name
    let connection = try SQLiteConnection.scratch(in: self.folder, options: options)
    // So small a cache has to write in the middle of the transaction.
    try connection.pragma("PRAGMA cache_size = 1")
    vfs.fail(.write, nth: 1, with: 13)
    let later = #expect(throws: StorageError.self) {
      try connection.write {
        var first: (any Error)?
        for number in 0..<2_000 where first == nil {
          let text = "\(number)" + String(repeating: "x", count: 500)
          do { try connection.execute(Scratch.insert, text) } catch { first = error }
        }
        #expect((first as? StorageError)?.code == .full)
        try connection.execute(Scratch.insert, "alone")
      }
    }
    #expect(later?.message == "an earlier error has undone the transaction")
    #expect(try connection.texts() == [])
  }

  @Test func eightWritersNeverSeeALock() async throws {
    let folder = self.folder
    _ = try SQLiteConnection.scratch(in: folder)
    let failures = Recorder<String>()
    await runOnThreads(8) { thread in
      do {
        let connection = try SQLiteConnection.scratch(in: folder)
        for number in 0..<50 {
          try connection.write { try connection.execute(Scratch.insert, "\(thread)-\(number)") }
        }
        try connection.close()
      } catch {
        failures.append("\(error)")
      }
    }
    #expect(failures.elements == [])
    let all = try SQLiteConnection.scratch(in: folder).texts()
    #expect(all.count == 400)
    for thread in 0..<8 {
      #expect(all.filter { $0.hasPrefix("\(thread)-") } == (0..<50).map { "\(thread)-\($0)" })
    }
  }

  @Test func aWriterWaitsForTheOneBeforeIt() async throws {
    let folder = self.folder
    let holder = try SQLiteConnection.scratch(in: folder)
    let order = Recorder<String>()
    let waits = Locked(false)
    try holder.pragma("BEGIN IMMEDIATE")
    let thread = Thread {
      do {
        let other = try SQLiteConnection.scratch(in: folder)
        waits.withLock { $0 = true }
        try other.write { try other.execute(Scratch.insert, "second") }
        order.append("written")
      } catch {
        order.append("\(error)")
      }
    }
    thread.start()
    while !waits.withLock({ $0 }) { await Task.yield() }
    try holder.pragma("INSERT INTO texts (text) VALUES ('first')")
    try holder.pragma("COMMIT")
    await order.wait(forCount: 1)
    #expect(order.elements == ["written"])
    #expect(try holder.texts() == ["first", "second"])
  }
}
