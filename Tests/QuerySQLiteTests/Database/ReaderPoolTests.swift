import CSQLite
import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

@Suite struct ReaderPoolTests {
  private let folder: TemporaryFolder
  private let opened = Locked(0)

  init() throws {
    self.folder = try TemporaryFolder()
    let writer = try SQLiteConnection.scratch(in: self.folder)
    try writer.write { try writer.execute(Scratch.insert, "a") }
    try writer.close()
  }

  private func pool(_ capacity: Int = 2) -> ReaderPool {
    let path = "\(self.folder.path)/scratch.sqlite"
    let opened = self.opened
    return ReaderPool(capacity: capacity) {
      opened.withLock { $0 += 1 }
      return try SQLiteConnection(path: path, options: .patient)
    }
  }

  private var openedCount: Int { self.opened.withLock { $0 } }

  @Test func connectionsAreOpenedWhenTheyAreNeededAndKept() throws {
    let pool = self.pool()
    #expect(self.openedCount == 0)
    for _ in 1...3 { #expect(try pool.tryRead { try $0.texts() } == ["a"]) }
    #expect(self.openedCount == 1)
    let nested = try pool.tryRead { _ in try pool.tryRead { try $0.texts() } }
    #expect(nested == ["a"])
    #expect(self.openedCount == 2)
  }

  @Test func whereAllAreTakenThereIsNone() throws {
    let pool = self.pool(1)
    let inner = try pool.tryRead { _ in try pool.tryRead { _ in true } }
    #expect(inner == .some(nil))
    #expect(try pool.tryRead { _ in true } == true)
    #expect(self.openedCount == 1)
  }

  @Test func aFailedOpeningTakesNoPlace() async throws {
    let failing = Locked(true)
    let path = "\(self.folder.path)/scratch.sqlite"
    let pool = ReaderPool(capacity: 1) {
      if failing.withLock({ $0 }) { throw TestError() }
      return try SQLiteConnection(path: path)
    }
    for _ in 1...3 { #expect(throws: TestError.self) { try pool.tryRead { _ in } } }
    await #expect(throws: TestError.self) { try await pool.read { _ in } }
    failing.withLock { $0 = false }
    #expect(try pool.tryRead { try $0.texts() } == ["a"])
  }

  @Test(arguments: [
    (StorageError.Code.busy, 1), (.busySnapshot, 1), (.interrupted, 1), (.locked, 1),
    (.corrupt, 2), (.inputOutput, 2), (StorageError.Code(rawValue: 266), 2),
  ])
  func aConnectionThatFailedIsNotUsedAgain(_ code: StorageError.Code, _ expected: Int) throws {
    let pool = self.pool(1)
    #expect(throws: StorageError.self) {
      try pool.tryRead { _ in throw StorageError(operation: "test", code: code, message: "") }
    }
    #expect(try pool.tryRead { try $0.texts() } == ["a"])
    #expect(self.openedCount == expected)
  }

  @Test func anotherErrorSaysNothingAboutTheConnection() throws {
    let pool = self.pool(1)
    #expect(throws: TestError.self) { try pool.tryRead { _ in throw TestError() } }
    #expect(try pool.tryRead { try $0.texts() } == ["a"])
    #expect(self.openedCount == 1)
  }

  @Test func aClosureThatLeavesASnapshotBehindLosesItsConnection() throws {
    let pool = self.pool(1)
    try pool.tryRead { connection in
      try connection.pragma("BEGIN")
      _ = try connection.texts()
    }
    // The WAL can be restarted: nobody reads an old state.
    let writer = try SQLiteConnection.scratch(in: self.folder)
    try writer.write { try writer.execute(Scratch.insert, "b") }
    #expect(try writer.checkpoint(.restart, patience: .seconds(60)).isComplete)
    #expect(try pool.tryRead { try $0.texts() } == ["a", "b"])
    #expect(self.openedCount == 2)
  }

  @Test func aConnectionThatAClosureClosedIsReplaced() throws {
    let pool = self.pool(1)
    try pool.tryRead { try $0.close() }
    #expect(try pool.tryRead { try $0.texts() } == ["a"])
    #expect(self.openedCount == 2)
  }

  @Test func manyThreadsShareAFew() async throws {
    let pool = self.pool(2)
    let most = Locked((now: 0, most: 0))
    await runOnThreads(8) { _ in
      for _ in 1...200 {
        _ = try? pool.tryRead { connection in
          most.withLock { counts in
            counts.now += 1
            counts.most = max(counts.most, counts.now)
          }
          _ = try connection.texts()
          most.withLock { $0.now -= 1 }
        }
      }
    }
    #expect(most.withLock { $0.most } <= 2)
    #expect(most.withLock { $0.now } == 0)
    #expect(self.openedCount <= 2)
  }
}

// MARK: - Waiting

extension ReaderPoolTests {
  /// Takes the only connection of a pool until the gate opens.
  private func hold(_ pool: ReaderPool) async -> (release: Gate, task: Task<Void, any Error>) {
    let (taken, release) = (Gate(), Gate())
    let task = Task.detached {
      try await pool.read { _ in
        let done = DispatchSemaphore(value: 0)
        Task.detached {
          await taken.passIgnoringCancellation()
          await release.passIgnoringCancellation()
          done.signal()
        }
        done.wait()
      }
    }
    await taken.arrival()
    taken.open()
    return (release, task)
  }

  /// Waits until so many wait for the pool's connections.
  private func waiters(_ count: Int, of pool: ReaderPool) async {
    while pool.waiterCount != count { await Task.yield() }
  }

  @Test func whoWaitsComesInTurn() async throws {
    let pool = self.pool(1)
    let (release, holder) = await self.hold(pool)
    let order = Recorder<Int>()
    var tasks = [Task<Void, any Error>]()
    for number in 1...5 {
      tasks.append(
        Task.detached {
          try await pool.read { connection in
            _ = try connection.texts()
            order.append(number)
          }
        })
      await self.waiters(number, of: pool)
    }
    #expect(try pool.tryRead { _ in true } == nil)
    release.open()
    for task in tasks { try await task.value }
    try await holder.value
    #expect(order.elements == [1, 2, 3, 4, 5])
    #expect(self.openedCount == 1)
  }

  @Test func whoIsCancelledLeavesTheQueue() async throws {
    let pool = self.pool(1)
    let (release, holder) = await self.hold(pool)
    let first = Task.detached { try await pool.read { _ in } }
    await self.waiters(1, of: pool)
    let second = Task.detached { try await pool.read { try $0.texts() } }
    await self.waiters(2, of: pool)
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    release.open()
    #expect(try await second.value == ["a"])
    try await holder.value
  }

  @Test func whoIsCancelledBeforeDoesNotRead() async throws {
    let pool = self.pool(1)
    let gate = Gate()
    let task = Task.detached {
      await gate.passIgnoringCancellation()
      try await pool.read { _ in }
    }
    task.cancel()
    gate.open()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(self.openedCount == 0)
    #expect(try pool.tryRead { _ in true } == true)
  }

  @Test func aFailedReadHandsItsTurnOn() async throws {
    let pool = self.pool(1)
    let (release, holder) = await self.hold(pool)
    let failing = Task.detached {
      try await pool.read { _ in
        throw StorageError(operation: "test", code: .corrupt, message: "")
      }
    }
    await self.waiters(1, of: pool)
    let next = Task.detached { try await pool.read { try $0.texts() } }
    await self.waiters(2, of: pool)
    release.open()
    await #expect(throws: StorageError.self) { try await failing.value }
    #expect(try await next.value == ["a"])
    try await holder.value
    #expect(self.openedCount == 2)
  }
}

// MARK: - Closing

extension ReaderPoolTests {
  @Test func aClosedPoolReadsNothingUntilItIsReopened() async throws {
    let pool = self.pool()
    #expect(try pool.tryRead { try $0.texts() } == ["a"])
    pool.close()
    #expect(try pool.tryRead { _ in true } == nil)
    let error = await #expect(throws: StorageError.self) { try await pool.read { _ in } }
    #expect(error?.code == .misuse)
    pool.close()
    pool.reopen()
    #expect(try pool.tryRead { try $0.texts() } == ["a"])
    #expect(try await pool.read { try $0.texts() } == ["a"])
    #expect(self.openedCount == 2)
  }

  @Test func afterClosingNobodyHasTheFileOpen() async throws {
    let pool = self.pool()
    _ = try pool.tryRead { _ in try pool.tryRead { try $0.texts() } }
    let wal = "\(self.folder.path)/scratch.sqlite-wal"
    #expect(FileManager.default.fileExists(atPath: wal))
    // The last one to leave removes the WAL.
    pool.close()
    #expect(!FileManager.default.fileExists(atPath: wal))
  }

  @Test func closingWaitsForWhoReads() async throws {
    let pool = self.pool(1)
    let (release, holder) = await self.hold(pool)
    let waiting = Task.detached { try await pool.read { _ in } }
    await self.waiters(1, of: pool)
    let events = Recorder<String>()
    let thread = Thread {
      pool.close()
      events.append("closed")
    }
    thread.start()
    // The waiter gets its error at once, and closing goes on waiting.
    let error = await #expect(throws: StorageError.self) { try await waiting.value }
    #expect(error?.code == .misuse)
    events.append("told")
    release.open()
    try await holder.value
    await events.wait(forCount: 2)
    #expect(events.elements == ["told", "closed"])
    #expect(!FileManager.default.fileExists(atPath: "\(self.folder.path)/scratch.sqlite-shm"))
  }

  @Test func whoWaitsWhileItIsSuspendedReadsTheNewFile() async throws {
    let pool = self.pool(2)
    #expect(try pool.tryRead { try $0.texts() } == ["a"])
    pool.suspend()
    #expect(try pool.tryRead { _ in true } == nil)
    let tasks = (1...3).map { _ in Task.detached { try await pool.read { try $0.texts() } } }
    await self.waiters(3, of: pool)
    let path = "\(self.folder.path)/scratch.sqlite"
    #expect(unlink(path) == 0)
    let writer = try SQLiteConnection.scratch(in: self.folder)
    try writer.write { try writer.execute(Scratch.insert, "new") }
    pool.reopen()
    for task in tasks { #expect(try await task.value == ["new"]) }
    #expect(try pool.tryRead { try $0.texts() } == ["new"])
    #expect(self.openedCount <= 3)
  }

  @Test func aSuspendedPoolMayBeClosed() async throws {
    let pool = self.pool(1)
    pool.suspend()
    let task = Task.detached { try await pool.read { _ in } }
    await self.waiters(1, of: pool)
    pool.close()
    await #expect(throws: StorageError.self) { try await task.value }
    // What is closed for good is not merely suspended.
    pool.suspend()
    await #expect(throws: StorageError.self) { try await pool.read { _ in } }
  }
}
