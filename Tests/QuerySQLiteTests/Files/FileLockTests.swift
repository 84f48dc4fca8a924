import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

@Suite struct FileLockTests {
  private let folder: TemporaryFolder

  init() throws { self.folder = try TemporaryFolder() }

  private func lock(_ kind: DatabaseKind = .cache) -> FileLock {
    FileLock(kind: kind, folder: self.folder.path)
  }

  @Test func theFileIsForItsUserAloneAndMadeWhenItIsNeeded() throws {
    let lock = self.lock()
    #expect(lock.path == "\(self.folder.path)/cache.lock")
    #expect(!FileManager.default.fileExists(atPath: lock.path))
    try lock.lockShared()
    var status = stat()
    #expect(stat(lock.path, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600)
  }

  @Test func manyShareItAndOneHoldsItExclusively() throws {
    let first = self.lock()
    let second = self.lock()
    try first.lockShared()
    try second.lockShared()
    #expect(try !first.tryExclusive())
    #expect(first.mode == .shared)
    second.unlock()
    #expect(second.mode == .none)
    #expect(try first.tryExclusive())
    #expect(first.mode == .exclusive)
    #expect(try !second.tryExclusive())
    #expect(second.mode == .none)
    try first.downgrade()
    #expect(first.mode == .shared)
    try second.lockShared()
  }

  @Test func whoHasItOpenIsSeenByTheOthersAndNotByItself() throws {
    let first = self.lock()
    #expect(first.hasOthers)
    try first.lockShared()
    #expect(!first.hasOthers)
    let second = self.lock()
    try second.lockShared()
    #expect(first.hasOthers)
    #expect(second.hasOthers)
    second.unlock()
    #expect(!first.hasOthers)
    try second.lockShared()
    #expect(first.hasOthers)
    second.letGo()
    #expect(!first.hasOthers)
    // The outbox has a lock of its own.
    let other = self.lock(.mutations)
    try other.lockShared()
    #expect(!first.hasOthers)
  }

  @Test func whoCannotSeeTheOthersAnyMoreReckonsWithThem() throws {
    let lock = self.lock()
    try lock.lockShared()
    try FileManager.default.removeItem(atPath: lock.path)
    #expect(lock.hasOthers)
    try lock.lockShared()
    #expect(!lock.hasOthers)
  }

  /// As a service may run a program: the first file that it opens has the descriptor 0.
  @Test func aProgramWithoutAStandardInputSeesItsOwnLock() async {
    await #expect(processExitsWith: .success) {
      // A lock that seems to be lost is opened again and again.
      alarm(30)
      let folder = try TemporaryFolder()
      close(STDIN_FILENO)
      let lock = FileLock(kind: .cache, folder: folder.path)
      try lock.lockShared()
      #expect(lock.isCurrent && !lock.hasOthers)
      let other = FileLock(kind: .cache, folder: folder.path)
      try other.lockShared()
      #expect(lock.hasOthers)
      lock.unlock()
      #expect(try other.tryExclusive())
      other.letGo()
      try lock.lockShared()
      lock.letGo()
      #expect(fcntl(STDIN_FILENO, F_GETFD) == -1)
    }
  }

  @Test func anotherProcessIsSeenUntilItEnds() async throws {
    let lock = self.lock()
    try lock.lockShared()
    await #expect(processExitsWith: .success) { [path = self.folder.path as String] in
      let lock = FileLock(kind: .cache, folder: path)
      try lock.lockShared()
      guard lock.hasOthers else { exit(1) }
      exit(0)
    }
    #expect(!lock.hasOthers)
  }

  @Test func whoCannotShareItIsToldAfterItsPatience() throws {
    let holder = self.lock()
    #expect(try holder.tryExclusive())
    let lock = self.lock()
    let error = storageError { try lock.lockShared(patience: .milliseconds(1)) }
    #expect(error?.code == .busy)
    #expect(error?.fileName == "cache.lock")
    #expect(lock.mode == .none)
    holder.unlock()
    try lock.lockShared(patience: .zero)
  }

  @Test func whoWaitsGetsItWhenItIsFree() async throws {
    let holder = self.lock()
    #expect(try holder.tryExclusive())
    let path = self.folder.path
    let mode = Task.detached {
      let lock = FileLock(kind: .cache, folder: path)
      try lock.lockShared(patience: .seconds(300))
      return lock.mode
    }
    holder.unlock()
    #expect(try await mode.value == .shared)
  }

  @Test func theTwoDatabasesHaveLocksOfTheirOwn() throws {
    let cache = self.lock()
    let mutations = self.lock(.mutations)
    #expect(try cache.tryExclusive())
    #expect(try mutations.tryExclusive())
  }

  @Test func aReleasedLockIsFree() throws {
    var holder: FileLock? = self.lock()
    #expect(try holder?.tryExclusive() == true)
    holder = nil
    #expect(try self.lock().tryExclusive())
  }

  @Test func aKilledProcessLeavesNoLock() async throws {
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = self.folder.path as String] in
      let lock = FileLock(kind: .cache, folder: path)
      if try lock.tryExclusive() { kill(getpid(), SIGKILL) }
    }
    #expect(try self.lock().tryExclusive())
  }

  @Test func whereTheFileWasDeletedTheNewOneIsLocked() throws {
    let old = self.lock()
    try old.lockShared()
    #expect(old.isCurrent)
    #expect(unlink(old.path) == 0)
    #expect(!old.isCurrent)
    let other = self.lock()
    #expect(try other.tryExclusive())
    // The new file is asked, and not the one that nobody else sees.
    #expect(try !old.tryExclusive())
    #expect(old.mode == .none)
    other.unlock()
    try old.lockShared()
    #expect(old.isCurrent)
    #expect(try !other.tryExclusive())
  }

  @Test func aFolderThatIsNotThereIsAnError() throws {
    let lock = FileLock(kind: .cache, folder: "\(self.folder.path)/none")
    let error = storageError { try lock.lockShared() }
    #expect(error?.code == .cannotOpen)
    #expect(error?.fileName == "cache.lock")
    #expect(lock.mode == .none)
  }
}
