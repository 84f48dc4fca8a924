import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

@Suite struct NeighboursTests {
  private let folder: TemporaryFolder
  private let connection: SQLiteConnection
  private let neighbours: Neighbours
  private let start = SuspendingClock.now

  init() throws {
    self.folder = try TemporaryFolder()
    self.connection = try DatabaseOpener(.cache, in: self.folder).openWriter()
    self.neighbours = Neighbours(kind: .cache, folder: self.folder.path)
  }

  /// Follows them with a watch: a user has 128, which the storages of other tests may use up.
  private func follow() async throws {
    while true {
      self.neighbours.follow(self.connection, watchingAfter: .zero)
      if self.neighbours.descriptor != nil { return }
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  /// - Returns: What was found, and the arguments with which the file was to be opened again.
  private func look(
    _ now: SuspendingClock.Instant? = nil
  ) -> (mayHaveChanges: Bool, reopened: [Bool]) {
    var reopened = [Bool]()
    let found = self.neighbours.look(self.connection, at: now ?? .now) { isReported in
      reopened.append(isReported)
      return self.connection
    }
    return (found, reopened)
  }

  @Test func aCommitIsNotifiedOnceAndSeenByTheOthers() async throws {
    try await self.follow()
    #expect(self.look() == (false, []))
    let other = Neighbours(kind: .cache, folder: self.folder.path)
    other.notify()
    #expect(self.look() == (false, []))
    other.hasCommitted = true
    other.notify()
    #expect(!other.hasCommitted)
    #expect(self.look() == (true, []))
    other.notify()
    #expect(self.look(.now + .seconds(1)) == (false, []))
  }

  @Test func processesThatFollowAKickFileMadeAnewAreNotified() async throws {
    try await self.follow()
    let path = ChangeKick.path(kind: .cache, folder: self.folder.path)
    #expect(unlink(path) == 0)
    let other = Neighbours(kind: .cache, folder: self.folder.path)
    other.follow(self.connection, watchingAfter: .zero)
    guard other.descriptor != nil else {
      return withKnownIssue { Issue.record("no watch is left") }
    }
    // Before this process has seen that there is another one.
    self.neighbours.hasCommitted = true
    self.neighbours.notify()
    _ = self.look()
    let isNotified = other.look(self.connection, at: .now) { _ in self.connection }
    #expect(isNotified)
  }

  /// A short command would wait at its end until the kernel has taken the watch back.
  @Test func aFileIsWatchedOnceItHasBeenOpenForAWhile() throws {
    let before = SuspendingClock.now
    self.neighbours.follow(self.connection)
    let due = try #require(self.neighbours.due)
    #expect(due - before >= Neighbours.unwatchedTime)
    #expect(self.neighbours.watchDescriptor == nil)
    #expect(self.look(before) == (false, []))
    #expect(self.neighbours.watchDescriptor == nil)
    // What others have done meanwhile is looked for, whether they have notified anybody or not.
    #expect(self.look(due) == (true, [false]))
    #expect(self.neighbours.due.map { $0 > due } ?? true)
    self.neighbours.unfollow()
    #expect(self.neighbours.due == nil)
  }

  @Test func aLoneProcessNotifiesNobodyAndItselfNeither() async throws {
    try await self.follow()
    self.neighbours.hasCommitted = true
    self.neighbours.notify()
    #expect(!self.neighbours.hasCommitted)
    #expect(self.look() == (false, []))
    // From the moment at which another one follows, it is notified.
    let watch = try #require(ChangeWatch(kind: .cache, folder: self.folder.path))
    self.neighbours.hasCommitted = true
    self.neighbours.notify()
    #expect(watch.drain() == .kicked)
    #expect(self.look() == (true, []))
  }

  @Test func aKickFileThatIsRemovedIsMadeAgainForTheOthers() async throws {
    try await self.follow()
    let watch = try #require(ChangeWatch(kind: .cache, folder: self.folder.path))
    try FileManager.default.removeItem(
      atPath: ChangeKick.path(kind: .cache, folder: self.folder.path))
    for _ in 0..<2 {
      // The second time the other one has not yet seen that there is a new file.
      self.neighbours.hasCommitted = true
      self.neighbours.notify()
    }
    #expect(watch.drain().contains(.kicked))
    #expect(self.look() == (true, []))
    self.neighbours.hasCommitted = true
    self.neighbours.notify()
    #expect(watch.drain() == .kicked)
  }

  @Test func kicksAreNotAnsweredOneByOne() async throws {
    try await self.follow()
    let kick = ChangeKick(kind: .cache, folder: self.folder.path)
    kick.kick()
    let now = SuspendingClock.now
    #expect(self.look(now).mayHaveChanges)
    kick.kick()
    #expect(!self.look(now + .milliseconds(19)).mayHaveChanges)
    #expect(self.look(now + .milliseconds(20)).mayHaveChanges)
  }

  @Test func aFileThatIsMovedAwayIsReported() async throws {
    try await self.follow()
    let path = "\(self.folder.path)/cache.sqlite"
    try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
    // The others of the folder may follow it.
    let now = SuspendingClock.now
    #expect(self.look(now) == (true, []))
    #expect(self.look(now + .milliseconds(19)) == (false, []))
    #expect(self.look(now + .milliseconds(20)) == (true, [true]))
    #expect(self.look(now + .milliseconds(40)) == (false, []))
  }

  @Test func nothingIsLookedForBeforeItFollowsAndAfter() async throws {
    #expect(self.neighbours.due == nil && self.neighbours.descriptor == nil)
    try await self.follow()
    self.neighbours.unfollow()
    #expect(self.neighbours.due == nil && self.neighbours.descriptor == nil)
    let found = self.neighbours.look(nil, at: .now) { _ in nil }
    #expect(!found)
  }

  /// Without a watch the content's version is compared once a second.
  @Test func withoutAWatchTheVersionOfTheContentIsPolled() async throws {
    // Something that is no file is in the place of the kick file.
    let kick = ChangeKick.path(kind: .cache, folder: self.folder.path)
    try? FileManager.default.removeItem(atPath: kick)
    try FileManager.default.createDirectory(
      atPath: kick, withIntermediateDirectories: false)
    self.neighbours.follow(self.connection, watchingAfter: .zero)
    #expect(self.neighbours.descriptor == nil)
    let now = SuspendingClock.now
    #expect(self.look(now) == (false, [false]))
    let other = try DatabaseOpener(.cache, in: self.folder).openWriter()
    try other.write { try other.execute(PartitionRow.insert, "other") }
    #expect(self.look(now + .milliseconds(999)) == (false, []))
    #expect(self.look(now + .seconds(1)) == (true, [false]))
    #expect(self.look(now + .seconds(2)) == (false, [false]))
    #expect(self.neighbours.due == now + .seconds(3))
    try other.close()
  }
}
