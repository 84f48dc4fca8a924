import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QueryInspection
@testable import QuerySQLite

/// While a salvage waits, nobody is told that nothing is unsent, and no file goes that has what is.
@Suite(.serialized) struct WaitingSalvageTests {
  private let folder: TemporaryFolder
  private let ids: [String: UUID]

  /// Two accounts have a mutation each; the file was set aside by a process that was killed.
  init() async throws {
    self.folder = try TemporaryFolder()
    var ids = [String: UUID]()
    for partition in ["one", "two"] {
      let scratch = try OutboxScratch(in: self.folder, partition: partition)
      ids[partition] = try await scratch.add(partition)
      try await scratch.storage.close()
    }
    self.ids = ids
    let lock = FileLock(kind: .mutations, folder: self.folder.path)
    #expect(try lock.tryExclusive())
    let files = SetAside(kind: .mutations, folder: self.folder.path)
    let name = try files.freeName(for: .corrupt)
    try OutboxSalvage(folder: self.folder.path, now: OutboxClock.system.now()).begin(name)
    try files.run(.corrupt, as: name, holding: lock)
    lock.unlock()
  }

  @Test func whoReadsFindsTheRows() async throws {
    let scratch = try OutboxScratch(in: self.folder, partition: "one")
    #expect(try scratch.outbox.counts.rows == OutboxCounts(pending: 1))
    #expect(try scratch.outbox.entries().map(\.id) == [self.ids["one"]])
    try await scratch.storage.close()
  }

  @Test func whoCannotSalvageIsToldSo() async throws {
    let other = FileLock(kind: .mutations, folder: self.folder.path)
    try other.lockShared()
    let scratch = try OutboxScratch(in: self.folder, partition: "one")
    #expect(throws: StorageError.self) { try scratch.outbox.counts }
    #expect(throws: StorageError.self) { try scratch.outbox.entries() }
    await #expect(throws: StorageError.self) { try await scratch.storage.mutations.erase() }
    other.unlock()
    try await scratch.storage.close()
    let next = try OutboxScratch(in: self.folder, partition: "two")
    #expect(try next.outbox.entries().map(\.id) == [self.ids["two"]])
    try await next.storage.close()
  }

  @Test func whoErasesLeavesWhatOthersHave() async throws {
    let scratch = try OutboxScratch(in: self.folder, partition: "one")
    try await scratch.storage.mutations.erase()
    #expect(try scratch.outbox.entries().isEmpty)
    try await scratch.storage.close()
    let next = try OutboxScratch(in: self.folder, partition: "two")
    #expect(try next.outbox.entries().map(\.id) == [self.ids["two"]])
    try await next.storage.close()
    #expect(try SetAside(kind: .mutations, folder: self.folder.path).names().isEmpty)
  }

  @Test func aToolDoesNotSayThatNothingIsUnsent() throws {
    let file = InspectionFile(kind: .mutations, folder: self.folder.path)
    #expect(try file.exists)
    #expect(throws: InspectionError.self) {
      try file.read { try $0.first("SELECT count(*) FROM outbox") { try $0.integer(at: 0) } }
    }
  }

  /// Damaged files that were salvaged whole go, but two; one that was not stays for good.
  @Test func aFileThatWasNotSalvagedWholeIsNeverDeleted() async throws {
    let scratch = try OutboxScratch(in: self.folder, partition: "one")
    #expect(try scratch.outbox.entries().count == 1)
    try await scratch.storage.close()
    let files = SetAside(kind: .mutations, folder: self.folder.path)
    let path = "\(self.folder.path)/mutations.sqlite"
    var kept: SetAside.Name?
    for round in 1...5 {
      let known = try files.names()
      var bytes = Array(try Data(contentsOf: URL(filePath: path)))
      // All of it in the first round, and a bit of the header in the others.
      if round == 1 { bytes = Array(repeating: 0x5a, count: 8_192) } else { bytes[18] ^= 1 }
      try? FileManager.default.removeItem(atPath: "\(path)-wal")
      try Data(bytes).write(to: URL(filePath: path))
      let outcome = try await DamagedOutbox.open(self.folder)
      #expect(outcome.isSaid, "round \(round)")
      let new = try files.names().subtracting(known).first
      if round == 1 { kept = new }
    }
    let left = try files.names()
    #expect(left.contains(try #require(kept)))
    // With it went what told that the one before it was salvaged whole.
    #expect(left.count == 4, "\(left)")
  }
}
