import Foundation
import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct QueryTaskTests {
  private static func task(
    _ name: String? = nil,
    _ work: @escaping @Sendable () async throws -> Int = { 1 }
  ) -> QueryTask<Int> {
    var context = QueryContext()
    if let name { context.queryTaskConfiguration.name = name }
    return QueryTask(context: context) { _, _ in try await work() }
  }

  // MARK: - Running

  @Test func theWorkRunsOnceAndItsResultIsKept() async throws {
    let counter = Counter()
    let task = Self.task { counter.increment() }
    #expect(counter.value == 0)
    #expect(!task.hasStarted && !task.isRunning && !task.isFinished && !task.isCancelled)
    #expect(task.finishedResult == nil)
    #expect(try await task.runIfNeeded() == 1)
    #expect(try await task.runIfNeeded() == 1)
    #expect(counter.value == 1)
    #expect(task.hasStarted && !task.isRunning && task.isFinished && !task.isCancelled)
    #expect(try task.finishedResult?.get() == 1)
  }

  @Test func anErrorIsKeptToo() async {
    let counter = Counter()
    let task = Self.task {
      counter.increment()
      throw TestError()
    }
    await #expect(throws: TestError()) { try await task.runIfNeeded() }
    await #expect(throws: TestError()) { try await task.runIfNeeded() }
    #expect(counter.value == 1)
    #expect(task.isFinished && !task.isCancelled)
  }

  @Test func manyWhoRunItAtOnceShareOneRun() async throws {
    let counter = Counter()
    let gate = Gate()
    let task = Self.task {
      counter.increment()
      try await gate.pass()
      return 7
    }
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<200 { group.addTask { try await task.runIfNeeded() } }
      await gate.arrival()
      #expect(task.isRunning)
      gate.open()
      for try await value in group { #expect(value == 7) }
    }
    #expect(counter.value == 1)
  }

  @Test func theWorkSeesTheIdentityOfTheTaskAndTheTaskItselfDoesNot() async throws {
    let task = QueryTask(context: QueryContext(mark: "m")) { identifier, context in
      #expect(context.queryRunningTaskIdentifier == identifier)
      #expect(context.mark == "m")
      return identifier
    }
    #expect(try await task.runIfNeeded() == task.id)
    #expect(task.context.queryRunningTaskIdentifier == nil)
  }

  @Test func anEditOfACopyAffectsRunsThatAreStartedThroughIt() async throws {
    let gate = Gate()
    let task = QueryTask(context: QueryContext(mark: "original")) { _, context in
      try await gate.pass()
      return context.mark
    }
    var copy = task
    copy.context.mark = "copy"
    #expect(task.context.mark == "original")
    let run = Task { [copy] in try await copy.runIfNeeded() }
    await gate.arrival()
    copy.context.mark = "late"
    gate.open()
    #expect(try await run.value == "copy")
    #expect(try await task.runIfNeeded() == "copy")
  }

  // MARK: - Identity

  @Test func copiesAndMapsAreOneTask() {
    let task = Self.task()
    let other = Self.task()
    #expect(task == task.map { $0 })
    #expect(task.id == task.map { "\($0)" }.id)
    #expect(task != other)
    #expect(Set([task, task.map { $0 + 1 }, other]).count == 2)
  }

  // MARK: - Maps

  @Test func aMapSharesTheRunAndTransformsAtEachRead() async throws {
    let runs = Counter()
    let transforms = Counter()
    let task = Self.task { runs.increment() }
    let mapped = task.map { value in
      transforms.increment()
      return "\(value)!"
    }
    #expect(mapped.finishedResult == nil)
    #expect(transforms.value == 0)
    #expect(try await mapped.runIfNeeded() == "1!")
    #expect(try await task.runIfNeeded() == 1)
    #expect(try mapped.finishedResult?.get() == "1!")
    #expect(runs.value == 1)
    #expect(transforms.value == 2)
    #expect(mapped.hasStarted && mapped.isFinished && !mapped.isRunning)
  }

  @Test func aMapThatThrowsIsAFailureOfTheMapAlone() async throws {
    let task = Self.task()
    let mapped = task.map { _ -> Int in throw TestError("map") }.map { $0 + 1 }
    await #expect(throws: TestError("map")) { try await mapped.runIfNeeded() }
    #expect(throws: TestError("map")) { try mapped.finishedResult?.get() }
    #expect(try await task.runIfNeeded() == 1)
    #expect(try task.finishedResult?.get() == 1)
    #expect(mapped.isFinished && !mapped.isCancelled)
  }

  @Test func cancellingAMapCancelsTheTask() async {
    let task = Self.task()
    task.map { $0 + 1 }.cancel()
    #expect(task.isCancelled)
    await #expect(throws: CancellationError.self) { try await task.runIfNeeded() }
  }

  // MARK: - Cancellation

  @Test func aTaskThatIsCancelledUnrunNeverRuns() async {
    let counter = Counter()
    let task = Self.task { counter.increment() }
    task.cancel()
    #expect(task.isFinished && task.isCancelled && !task.isRunning && !task.hasStarted)
    await #expect(throws: CancellationError.self) { try await task.runIfNeeded() }
    #expect(counter.value == 0)
  }

  @Test func aTaskThatIsCancelledWhileItRunsIsFinishedAtOnce() async {
    let gate = Gate()
    let task = Self.task {
      await gate.passIgnoringCancellation()
      throw TestError(Task.isCancelled ? "cancelled" : "not cancelled")
    }
    let first = Task { try await task.runIfNeeded() }
    await gate.arrival()
    let waiting = Task { try await task.runIfNeeded() }
    for _ in 0..<50 { await Task.yield() }
    task.cancel()
    #expect(task.isFinished && task.isCancelled && !task.isRunning && task.hasStarted)
    // Later callers do not wait for the work.
    await #expect(throws: CancellationError.self) { try await task.runIfNeeded() }
    gate.open()
    await #expect(throws: TestError("cancelled")) { try await first.value }
    await #expect(throws: (any Error).self) { try await waiting.value }
    #expect(task.isCancelled)
  }

  @Test func workThatIgnoresCancellationThrowsAllTheSame() async {
    let gate = Gate()
    let task = Self.task {
      await gate.passIgnoringCancellation()
      return 1
    }
    let run = Task { try await task.runIfNeeded() }
    await gate.arrival()
    task.cancel()
    gate.open()
    await #expect(throws: CancellationError.self) { try await run.value }
    #expect(task.isCancelled)
  }

  @Test func cancellingAFinishedTaskHasNoEffect() async throws {
    let task = Self.task()
    try await task.runIfNeeded()
    task.cancel()
    #expect(!task.isCancelled)
    #expect(try await task.runIfNeeded() == 1)
  }

  @Test func cancellingOneCallerCancelsTheTaskForAll() async {
    let gate = Gate()
    let task = Self.task {
      try await gate.pass()
      return 1
    }
    let first = Task { try await task.runIfNeeded() }
    await gate.arrival()
    let second = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await task.runIfNeeded()
    }
    await #expect(throws: CancellationError.self) { try await second.value }
    await #expect(throws: CancellationError.self) { try await first.value }
    #expect(task.isCancelled)
  }

  @Test func aCallerThatIsCancelledAlreadyRunsTheWorkInACancelledTask() async {
    let seen = Recorder<Bool>()
    let task = Self.task {
      seen.append(Task.isCancelled)
      return 1
    }
    let run = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await task.runIfNeeded()
    }
    await #expect(throws: CancellationError.self) { try await run.value }
    #expect(seen.elements == [true])
  }

  @Test func cancellingFromManyThreadsWhileItStartsLeavesNobodyWaiting() async {
    for _ in 0..<200 {
      let task = Self.task { 1 }
      let runs = (0..<3).map { _ in Task { try await task.runIfNeeded() } }
      await runOnThreads(2) { _ in task.cancel() }
      for run in runs { _ = await run.result }
      #expect(task.isFinished)
    }
  }

  @Test func aCancellationThatComesBeforeTheWorkReturnsIsNeverMissed() async {
    for _ in 0..<500 {
      let gate = Gate()
      let task = Self.task {
        await gate.passIgnoringCancellation()
        return 1
      }
      let run = Task { try await task.runIfNeeded() }
      await gate.arrival()
      run.cancel()
      gate.open()
      await #expect(throws: CancellationError.self) { try await run.value }
    }
  }

  /// The Swift task works as soon as it is made, which is before the run knows it.
  @Test func aCancellationIsNotMissedWhileTheSwiftTaskIsNotKnown() async {
    let run = Locked<Task<Int, any Error>?>(nil)
    let (isKnown, hasArrived, isOpen) = (
      DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
    )
    var context = QueryContext()
    let executor = HookedExecutor {
      isKnown.wait()
      hasArrived.wait()
      run.withLock { $0 }?.cancel()
      isOpen.signal()
    }
    context.queryTaskConfiguration.executorPreference = executor
    let task = QueryTask<Int>(context: context) { _, _ in
      hasArrived.signal()
      isOpen.wait()
      return 1
    }
    let started = Task { try await task.runIfNeeded() }
    run.withLock { $0 = started }
    isKnown.signal()
    await #expect(throws: CancellationError.self) { try await started.value }
  }

  // MARK: - Configuration

  @Test func theConfigurationIsAViewOfTheContext() {
    var task = Self.task("name")
    #expect(task.configuration.name == "name")
    task.configuration.priority = .high
    task.context.mark = "m"
    #expect(task.context.queryTaskConfiguration.priority == .high)
    #expect(task.configuration.context.mark == "m")
    #expect(task.configuration.name == "name")
    task.configuration = QueryTaskConfiguration(name: "other")
    #expect(task.configuration.name == "other")
    #expect(task.context.mark == "m")
    task.configuration = QueryTaskConfiguration(context: QueryContext())
    #expect(task.configuration.name == nil)
    #expect(task.context.mark == "none")
  }

  @Test func theInfoNamesTheTask() {
    let named = Self.task("name")
    let unnamed = Self.task()
    #expect(named.info.id == named.id)
    #expect(named.info.description == "[name](ID: \(named.id.debugDescription))")
    #expect(unnamed.info.description == "[Unnamed QueryTask](ID: \(unnamed.id.debugDescription))")
  }
}

/// Runs jobs on a thread of its own, and something on the thread that has enqueued the first one.
private final class HookedExecutor: TaskExecutor {
  private let queue = DispatchQueue(label: "hooked")
  private let hook: Locked<(@Sendable () -> Void)?>

  init(_ hook: @escaping @Sendable () -> Void) { self.hook = Locked(hook) }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    self.queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    self.hook.withLock { $0.take() }?()
  }
}
