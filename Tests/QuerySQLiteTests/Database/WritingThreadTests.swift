import Foundation
import Query
import TestSupport
import Testing

@testable import QuerySQLite

@Suite struct WritingThreadTests {
  /// Writes down what the thread asks of it.
  private final class Writer: ThreadedWriter {
    struct Failure: Error {}

    let neighbours = Neighbours(kind: .cache, folder: "/nowhere")
    let log: Locked<[String]>
    let failsToFinish: Bool
    /// Only who holds the writer changes these.
    var uses = 0
    var nextDue: SuspendingClock.Instant?

    init(_ log: Locked<[String]>, failsToFinish: Bool = false) {
      (self.log, self.failsToFinish) = (log, failsToFinish)
    }

    func run(_ jobs: [Int]) {
      self.uses += jobs.count
      self.log.withLock { $0.append("jobs \(jobs)") }
    }

    func work() {
      if let due = self.nextDue, due <= .now {
        self.nextDue = nil
        self.log.withLock { $0.append("due") }
      }
      self.log.withLock { $0.append("work") }
    }

    func finish() throws {
      self.log.withLock { $0.append("finish") }
      if self.failsToFinish { throw Failure() }
    }

    func stop() { self.log.withLock { $0.append("stop") } }
  }

  private let log = Locked([String]())

  private func makeThread(failsToFinish: Bool = false) throws -> WritingThread<Writer, Writer.Job> {
    try WritingThread(
      name: "writing-thread-test", Writer(self.log, failsToFinish: failsToFinish))
  }

  /// What was done but for the work in between.
  private var entries: [String] { self.log.withLock { $0.filter { $0 != "work" } } }

  private func stop(_ thread: WritingThread<Writer, Writer.Job>) async throws {
    let outcome = JobOutcome<Void>()
    #expect(thread.stop { outcome.set($0) })
    try await outcome.value()
  }

  @Test func tasksAndJobsAreDoneInTheirOrderAndJobsSideBySideTogether() async throws {
    let thread = try self.makeThread()
    #expect(thread.commit(1))
    #expect(thread.commit(2))
    #expect(thread.perform { $0.log.withLock { $0.append("task") } })
    #expect(thread.commit(3))
    #expect(thread.count == 4)
    thread.start {
      $0.log.withLock { $0.append("begin") }
    } didEnd: {
    }
    thread.waitUntilBegun(atMost: .seconds(60))
    #expect(self.entries.first == "begin")
    try await self.stop(thread)
    #expect(
      self.entries.prefix(6) == ["begin", "jobs [1, 2]", "task", "jobs [3]", "finish", "stop"])
  }

  @Test func whatIsAddedBeforeTheStopIsDoneAndNothingAfterIt() async throws {
    let thread = try self.makeThread()
    let ended = Locked(false)
    thread.start { ended.withLock { $0 = true } }
    for job in 0..<1_000 { #expect(thread.commit(job)) }
    try await self.stop(thread)
    #expect(!thread.commit(1_000))
    #expect(!thread.perform { _ in Issue.record("a task ran after the stop") })
    #expect(!thread.stop(completion: nil))
    thread.waitUntilEnded(atMost: .seconds(60))
    #expect(ended.withLock { $0 })
    #expect(thread.count == 0 && thread.isStopping)
    let done = self.entries.flatMap { entry in
      entry.hasPrefix("jobs ") ? entry.dropFirst(6).dropLast().components(separatedBy: ", ") : []
    }
    #expect(done == (0..<1_000).map(String.init))
  }

  @Test func aThreadThatWasNeverStartedStopsAtOnce() async throws {
    let thread = try self.makeThread()
    let outcome = JobOutcome<Void>()
    #expect(!thread.stop { outcome.set($0) })
    try await outcome.value()
    thread.start { Issue.record("it was started after its stop") }
    #expect(!thread.isStarted && self.entries.isEmpty)
  }

  @Test func theErrorOfTheLastWritesReachesTheCaller() async throws {
    let thread = try self.makeThread(failsToFinish: true)
    thread.start {}
    await #expect(throws: Writer.Failure.self) { try await self.stop(thread) }
    #expect(self.entries.prefix(2) == ["finish", "stop"])
  }

  @Test func aSecondStartDoesNothing() async throws {
    let thread = try self.makeThread()
    let ends = Locked(0)
    for _ in 0..<3 { thread.start { ends.withLock { $0 += 1 } } }
    try await self.stop(thread)
    thread.waitUntilEnded(atMost: .seconds(60))
    #expect(ends.withLock { $0 } == 1)
  }

  /// Uses the writer on this thread as soon as the writing thread sleeps.
  private func useWhenIdle(
    _ thread: WritingThread<Writer, Writer.Job>, _ body: (Writer) -> Bool
  ) async throws -> Bool {
    while true {
      var isCalled = false
      let isDone = thread.ifIdle {
        isCalled = true
        return body($0)
      }
      if isCalled { return isDone }
      await Task.yield()
    }
  }

  @Test func aCallerUsesTheWriterOnItsOwnThreadWhileNothingElseIsUnderWay() async throws {
    let thread = try self.makeThread()
    #expect(!thread.ifIdle { _ in true }, "it was not started")
    thread.start {}
    for answer in [true, false] {
      let isDone = try await self.useWhenIdle(thread) { writer in
        // It is not for two.
        #expect(!thread.ifIdle { _ in true })
        writer.uses += 1
        return answer
      }
      #expect(isDone == answer)
    }
    #expect(self.entries.isEmpty && thread.writer.uses == 2)
    try await self.stop(thread)
    #expect(!thread.ifIdle { _ in true }, "it has stopped")
  }

  /// It would want the writer, and have all that the caller commits next. Nor does it use the writer beside
  /// the caller.
  @Test func aCallerThatComesWhileTheThreadStaysAwakeIsNotSentToItAfterwards() async throws {
    let thread = try WritingThread<Writer, Writer.Job>(
      name: "writing-thread-test", Writer(self.log), patience: .milliseconds(50),
      workDelay: .seconds(600))
    thread.start {}
    // The first job is followed by work, the others by the wait for more.
    var isCaught = false
    while !isCaught {
      let uses = Locked(0)
      #expect(thread.commit(1))
      while !thread.ifIdle({ writer in
        uses.withLock { $0 = writer.uses }
        isCaught = thread.isAwake
        while thread.isAwake { sched_yield() }
        return true
      }) {}
      #expect(uses.withLock { $0 } > 0)
    }
    #expect(thread.ifIdle { _ in true })
    try await self.stop(thread)
    let before = self.log.withLock { $0.prefix { $0 != "finish" } }
    #expect(before.last == "jobs [1]")
  }

  @Test func whatIsAddedWhileACallerUsesTheWriterIsDoneAfterwards() async throws {
    let thread = try self.makeThread()
    thread.start {}
    let outcome = JobOutcome<Void>()
    let isDone = try await self.useWhenIdle(thread) { writer in
      #expect(thread.commit(1))
      #expect(thread.perform { _ in outcome.set(.success(())) })
      writer.log.withLock { $0.append("caller") }
      return true
    }
    #expect(isDone)
    try await outcome.value()
    #expect(self.entries == ["caller", "jobs [1]"])
    try await self.stop(thread)
  }

  @Test func whatACallerMakesDueIsDoneByTheThread() async throws {
    let thread = try self.makeThread()
    thread.start {}
    for delay in [Duration.zero, .milliseconds(20)] {
      let isDone = try await self.useWhenIdle(thread) { writer in
        writer.nextDue = .now + delay
        return true
      }
      #expect(isDone)
      while !self.entries.contains("due") { await Task.yield() }
      self.log.withLock { $0 = [] }
    }
    try await self.stop(thread)
  }

  /// The thread has woken for one time, and found work instead; it sleeps on while a caller uses the writer.
  @Test(.timeLimit(.minutes(5))) func aTimeIsKeptBehindOneThatCameWhileACallerUsedTheWriter()
    async throws
  {
    let thread = try WritingThread<Writer, Writer.Job>(
      name: "writing-thread-test", Writer(self.log), patience: .milliseconds(50),
      workDelay: .seconds(600))
    thread.start {}
    #expect(
      try await self.useWhenIdle(thread) { writer in
        writer.nextDue = .now + .milliseconds(5)
        return true
      })
    var isCaught = false
    while !isCaught {
      // The time comes while this caller uses the writer.
      let isDone = try await self.useWhenIdle(thread) { writer in
        writer.nextDue = .now
        #expect(thread.commit(1))
        thread.wake(by: .now)
        while !thread.isWaitingForCaller { sched_yield() }
        return true
      }
      #expect(isDone)
      // The next one comes while the thread stays awake for more.
      isCaught = try await self.useWhenIdle(thread) { writer in
        guard thread.isAwake else { return false }
        while thread.isAwake { sched_yield() }
        writer.log.withLock { $0 = [] }
        writer.nextDue = .now + .milliseconds(20)
        return true
      }
    }
    while !self.entries.contains("due") { await Task.yield() }
    try await self.stop(thread)
  }

  @Test func aThreadThatIsToLookDoesSoEvenIfACallerUsesTheWriterThen() async throws {
    let thread = try self.makeThread()
    thread.start {}
    let isDone = try await self.useWhenIdle(thread) { writer in
      writer.log.withLock { $0 = [] }
      thread.wake()
      return true
    }
    #expect(isDone)
    while !self.log.withLock({ $0.contains("work") }) { await Task.yield() }
    try await self.stop(thread)
  }

  @Test func aTimeThatIsSetFromOutsideWakesTheThreadOnce() async throws {
    let thread = try self.makeThread()
    thread.start {}
    #expect(try await self.useWhenIdle(thread) { _ in true })
    self.log.withLock { $0 = [] }
    thread.wake(by: .now + .milliseconds(5))
    // An earlier one stays.
    thread.wake(by: .now + .seconds(3_600))
    while !self.log.withLock({ $0.contains("work") }) { await Task.yield() }
    try await self.stop(thread)
  }

  @Test func callersAndTheThreadNeverUseTheWriterAtTheSameTime() async throws {
    let thread = try self.makeThread()
    thread.start {}
    let (callers, rounds) = (4, 500)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<callers {
        group.addTask {
          for round in 0..<rounds {
            let isDone = thread.ifIdle {
              $0.uses += 1
              return true
            }
            if isDone { continue }
            if round.isMultiple(of: 3) {
              #expect(thread.commit(round))
            } else {
              let outcome = JobOutcome<Void>()
              #expect(
                thread.perform {
                  $0.uses += 1
                  outcome.set(.success(()))
                })
              try? await outcome.value()
            }
          }
        }
      }
    }
    try await self.stop(thread)
    #expect(thread.writer.uses == callers * rounds)
  }

  @Test func noneOfTheJobsOfManyThreadsIsLostWhileTheThreadFallsAsleep() async throws {
    let thread = try self.makeThread()
    thread.start {}
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          for _ in 0..<200 {
            let outcome = JobOutcome<Void>()
            #expect(thread.perform { _ in outcome.set(.success(())) })
            // Until the thread has done it, so that it is about to sleep in each round.
            try? await outcome.value()
          }
        }
      }
    }
    try await self.stop(thread)
  }
}
