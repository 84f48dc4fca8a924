import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Persistence §9, for the outbox: the log is copied into the file, and a reader holds nobody up.
@Suite struct OutboxWriterMaintenanceTests {
  /// Does something on the writing thread, after the jobs that were queued before.
  private func onWriter<R: Sendable>(
    of scratch: OutboxScratch, _ body: @escaping @Sendable (OutboxWriter) -> R
  ) async -> R {
    await withCheckedContinuation { continuation in
      scratch.storage.mutations.database.thread.perform { continuation.resume(returning: body($0)) }
    }
  }

  /// How long writers were kept waiting is told by how often it was tried: each time is a few
  /// milliseconds, and the pauses between two double.
  @Test func aReaderThatStaysIsTriedSeldomAndThePauseIsShared() async throws {
    let scratch = try OutboxScratch { $0.checkpointFrames = 10 }
    try await scratch.add()
    let reader = try SQLiteConnection(path: scratch.path)
    var pauses = [CheckpointSchedule.Pause]()
    try await reader.reading {
      for _ in 0..<40 {
        try await scratch.add()
        let pause = await self.onWriter(of: scratch) { $0.log.schedule.pause }
        if let pause, pause != pauses.last { pauses.append(pause) }
      }
    }
    #expect(!pauses.isEmpty)
    // Not each of them is seen from here.
    let lengths = pauses.map(\.length)
    let possible = (0..<10).map { Duration.milliseconds(100 << $0) } + [CheckpointPause.longest]
    #expect(lengths.allSatisfy { possible.contains($0) })
    #expect(zip(pauses, pauses.dropFirst()).allSatisfy { $0.until <= $1.until - $1.length })
    let shared = CheckpointPause(kind: .mutations, folder: scratch.folder.path)
    try reader.close()
    let isDone = await self.onWriter(of: scratch) { writer in
      guard let connection = writer.connection else { return false }
      writer.keepLog { try $0.checkpoint(connection) }
      return !writer.log.isBlocked
    }
    #expect(isDone)
    #expect(shared.read() == CheckpointPause.Standing.none)
    #expect(try scratch.outbox.counts.pending == 41)
    try await scratch.storage.close()
  }

  @Test func whoFindsThePauseOfAnotherProcessKeepsIt() async throws {
    let scratch = try OutboxScratch { $0.checkpointFrames = 10 }
    try await scratch.add()
    let shared = CheckpointPause(kind: .mutations, folder: scratch.folder.path)
    for _ in 0..<30 {
      // Begun anew each time: a loaded machine may take longer than it lasts.
      #expect(shared.begin(.seconds(60)))
      try await scratch.add()
    }
    let (frames, pause) = await self.onWriter(of: scratch) {
      ($0.connection?.walFrames ?? 0, $0.log.schedule.pause)
    }
    #expect(frames >= 30)
    #expect(pause?.length == .seconds(60))
    // The other one has got through.
    shared.end()
    try await scratch.add()
    while await self.onWriter(of: scratch, { $0.log.isLeft }) {}
    #expect(await self.onWriter(of: scratch) { $0.connection?.walFrames ?? 0 } < 10)
    try await scratch.storage.close()
  }

  @Test func jobsThatTakeLongAreInTransactionsOfTheirOwn() async throws {
    let scratch = try OutboxScratch()
    try await scratch.add()
    let before = scratch.storage.mutations.database.commits
    let gate = DispatchSemaphore(value: 0)
    let thread = scratch.storage.mutations.database.thread
    thread.perform { _ in gate.wait() }
    // Or it might take a job with that, which would not be counted below.
    while thread.count > 0 { await Task.yield() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<3 {
        group.addTask {
          _ = try await scratch.storage.mutations.database.write(
            in: scratch.storage.mutations.partition
          ) { changes in
            usleep(UInt32(StepBudget.callersTime.microseconds))
            return try changes.enqueue(OutboxScratch.mutation("\(index)"), claiming: false)
          }
        }
      }
      while thread.count < 3 { await Task.yield() }
      gate.signal()
      try await group.waitForAll()
    }
    #expect(scratch.storage.mutations.database.commits - before == 3)
    #expect(try scratch.outbox.counts.pending == 4)
    try await scratch.storage.close()
  }

  /// A caller that has waited for the thread waits for another process's lock only as long as is left.
  @Test func theTimeThatACallerWaitsForALockCountsFromItsCall() async throws {
    let scratch = try OutboxScratch()
    try await scratch.add()
    let database = scratch.storage.mutations.database
    let gate = DispatchSemaphore(value: 0)
    database.thread.perform { _ in gate.wait() }
    while database.thread.count > 0 { await Task.yield() }
    let write = Task {
      try await database.write(in: scratch.storage.mutations.partition) {
        $0.connection.busyHandler.patience
      }
    }
    while database.thread.count < 1 { await Task.yield() }
    let later = SuspendingClock.now
    gate.signal()
    guard case .until(let end) = try await write.value else {
      Issue.record("a commit waits without an end")
      return
    }
    #expect(end <= later + database.configuration.busyTimeout)
    try await scratch.storage.close()
  }

  /// Its caller has made it a moment ago, with an error that nothing here can mend.
  @Test func anAttemptThatHasJustFailedIsNotMadeOnceMore() async throws {
    let scratch = try OutboxScratch { $0.retryDelay = .milliseconds(5) }
    try await scratch.add()
    let errors = Recorder<StorageError.Code?>()
    var job = OutboxJob(partition: scratch.storage.mutations.partition, needsOwner: false) {
      _ = try $0.enqueue(OutboxScratch.mutation(), claiming: false)
    } completion: { error in
      errors.append((error as? StorageError)?.code)
    }
    job.failure = StorageError(
      operation: "write", code: .readOnly, message: "it is read-only",
      fileName: DatabaseKind.mutations.fileName)
    await self.onWriter(of: scratch) { [job] in $0.run([job]) }
    #expect(errors.elements == [.readOnly])
    #expect(try scratch.outbox.counts.pending == 1)
    // It is tried again with what comes next.
    try await scratch.add()
    #expect(try scratch.outbox.counts.pending == 2)
    try await scratch.storage.close()
  }
}
