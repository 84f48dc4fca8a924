import Foundation
import TestSupport
import Testing

@testable import Query

/// Tasks that wait for other tasks.
@Suite(.warningsAreIssues) struct TaskRunTests {
  private static func task(
    _ name: String,
    _ work: @escaping @Sendable () async throws -> Int = { 1 }
  ) -> QueryTask<Int> {
    var context = QueryContext()
    context.queryTaskConfiguration.name = name
    return QueryTask(context: context) { _, _ in try await work() }
  }

  private static func circle(_ tasks: [QueryTask<Int>]) -> QueryWarning {
    .queryTaskCircularScheduling(info: tasks.map(\.info))
  }

  // MARK: - Waiting

  @Test func dependenciesAreStartedAndAwaitedBeforeTheWork() async throws {
    let log = Recorder<String>()
    let first = Self.task("1") {
      log.append("1")
      return 1
    }
    let second = Self.task("2") {
      log.append("2")
      return 2
    }
    second.schedule(after: first)
    #expect(!first.hasStarted)
    #expect(try await second.runIfNeeded() == 2)
    #expect(log.elements == ["1", "2"])
    #expect(first.isFinished)
  }

  @Test func dependenciesRunAtTheSameTime() async throws {
    let gate = Gate()
    let dependencies = (0..<3).map { index in
      Self.task("\(index)") {
        try await gate.pass()
        return index
      }
    }
    let task = Self.task("task")
    task.schedule(after: dependencies)
    let run = Task { try await task.runIfNeeded() }
    await gate.arrival(3)
    #expect(task.isRunning)
    gate.open()
    #expect(try await run.value == 1)
  }

  @Test func errorsAndCancellationOfDependenciesAreIgnored() async throws {
    let failing = Self.task("failing") { throw TestError() }
    let cancelled = Self.task("cancelled")
    cancelled.cancel()
    let mapped = Self.task("mapped").map { _ -> String in throw TestError() }
    let task = Self.task("task")
    task.schedule(after: [failing, cancelled])
    task.schedule(after: mapped)
    #expect(try await task.runIfNeeded() == 1)
    #expect(mapped.isFinished)
  }

  @Test func cancellingARunningDependencyDoesNotFailWhoWaits() async throws {
    let gate = Gate()
    let dependency = Self.task("dependency") {
      try await gate.pass()
      return 1
    }
    let task = Self.task("task") { Task.isCancelled ? 0 : 2 }
    task.schedule(after: dependency)
    let run = Task { try await task.runIfNeeded() }
    await gate.arrival()
    dependency.cancel()
    #expect(try await run.value == 2)
  }

  @Test func aDependencyThatHasRunIsNotRunAgain() async throws {
    let counter = Counter()
    let dependency = Self.task("dependency") { counter.increment() }
    try await dependency.runIfNeeded()
    let task = Self.task("task")
    task.schedule(after: dependency)
    try await task.runIfNeeded()
    #expect(counter.value == 1)
  }

  @Test func aChainRunsInItsOrder() async throws {
    let log = Recorder<Int>()
    let tasks = (0..<50).map { index in
      Self.task("\(index)") {
        log.append(index)
        return index
      }
    }
    for (earlier, later) in zip(tasks, tasks.dropFirst()) { later.schedule(after: earlier) }
    #expect(try await tasks.last?.runIfNeeded() == 49)
    #expect(log.elements == Array(0..<50))
  }

  @Test func cancellingWhileWaitingEndsTheWaitAndNotTheDependency() async throws {
    let gate = Gate()
    let counter = Counter()
    let dependency = Self.task("dependency") {
      await gate.passIgnoringCancellation()
      return Task.isCancelled ? 0 : 5
    }
    let task = Self.task("task") { counter.increment() }
    task.schedule(after: dependency)
    let run = Task { try await task.runIfNeeded() }
    await gate.arrival()
    run.cancel()
    await #expect(throws: CancellationError.self) { try await run.value }
    #expect(task.isCancelled)
    #expect(dependency.isRunning)
    gate.open()
    #expect(try await dependency.runIfNeeded() == 5)
    #expect(counter.value == 0)
  }

  @Test func aFetchThatIsCancelledWhileItWaitsFailsInTheStateWithOneEvent() async {
    let gate = Gate()
    let dependency = Self.task("dependency") {
      await gate.passIgnoringCancellation()
      return 1
    }
    let store = ScriptedQuery.store()
    let collector = EventCollector<IntState>()
    let subscription = store.subscribe(with: collector.handler)
    let task = store.fetchTask()
    task.schedule(after: dependency)
    let run = Task { try await task.runIfNeeded() }
    await gate.arrival()
    #expect(collector.events == [.stateChanged, .stateChanged])
    task.cancel()
    await #expect(throws: CancellationError.self) { try await run.value }
    #expect(collector.events == [.stateChanged, .stateChanged, .stateChanged])
    #expect(store.status.isCancelled)
    #expect(!store.isLoading)
    gate.open()
    withExtendedLifetime(subscription) {}
  }

  @Test func aTaskThatIsCancelledAtOnceDoesNotCancelWhatItWasToWaitFor() async throws {
    let dependency = Self.task("dependency") {
      try Task.checkCancellation()
      return 3
    }
    let task = Self.task("task")
    task.schedule(after: dependency)
    let run = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await task.runIfNeeded()
    }
    await #expect(throws: CancellationError.self) { try await run.value }
    #expect(!dependency.isCancelled)
    #expect(try await dependency.runIfNeeded() == 3)
  }

  @Test func schedulingAStartedTaskChangesNothing() async throws {
    let counter = Counter()
    let task = Self.task("task")
    try await task.runIfNeeded()
    let dependency = Self.task("dependency") { counter.increment() }
    task.schedule(after: dependency)
    #expect(try await task.runIfNeeded() == 1)
    #expect(counter.value == 0)
  }

  @Test func schedulingTwiceIsSchedulingOnce() async throws {
    let counter = Counter()
    let dependency = Self.task("dependency") { counter.increment() }
    let task = Self.task("task")
    task.schedule(after: dependency)
    task.schedule(after: [dependency, dependency, dependency.map { $0 }])
    try await task.runIfNeeded()
    #expect(counter.value == 1)
  }

  // MARK: - Circles

  @Test func aTaskAfterItselfIsACircle() async throws {
    let task = Self.task("1")
    await withExpectedWarnings([Self.circle([task, task])]) { task.schedule(after: task) }
    #expect(try await task.runIfNeeded() == 1)
  }

  @Test func twoTasksAfterEachOtherAreACircle() async throws {
    let first = Self.task("1")
    let second = Self.task("2")
    await withExpectedWarnings([Self.circle([second, first, second])]) {
      first.schedule(after: second)
      second.schedule(after: first)
    }
    #expect(try await first.runIfNeeded() == 1)
    #expect(second.isFinished)
  }

  @Test func threeTasksAfterEachOtherAreACircle() async throws {
    let tasks = ["1", "2", "3"].map { Self.task($0) }
    await withExpectedWarnings([Self.circle([tasks[2], tasks[0], tasks[1], tasks[2]])]) {
      tasks[0].schedule(after: tasks[1])
      tasks[1].schedule(after: tasks[2])
      tasks[2].schedule(after: tasks[0])
    }
    for task in tasks { #expect(try await task.runIfNeeded() == 1) }
  }

  @Test func aCircleOverACopyOrAMapIsFound() async throws {
    let first = Self.task("1")
    let second = Self.task("2")
    var copy = second
    copy.configuration.name = "copy"
    await withExpectedWarnings([Self.circle([copy, first, copy])]) {
      first.schedule(after: copy)
      copy.schedule(after: first.map { $0 })
    }
  }

  @Test func ofASequenceOnlyTheEdgeThatClosesACircleIsLeftOut() async throws {
    let counter = Counter()
    let first = Self.task("1")
    let second = Self.task("2")
    let third = Self.task("3") { counter.increment() }
    await withExpectedWarnings([Self.circle([second, first, second])]) {
      first.schedule(after: second)
      second.schedule(after: [first, third])
    }
    try await second.runIfNeeded()
    #expect(counter.value == 1)
    #expect(!first.hasStarted)
  }

  @Test func aDiamondIsNoCircle() async throws {
    let counter = Counter()
    let bottom = Self.task("bottom") { counter.increment() }
    let sides = [Self.task("left"), Self.task("right")]
    let top = Self.task("top")
    for side in sides { side.schedule(after: bottom) }
    top.schedule(after: sides)
    #expect(try await top.runIfNeeded() == 1)
    #expect(counter.value == 1)
  }

  @Test func aCircleWithATaskThatRunsIsFound() async throws {
    let gate = Gate()
    let last = Self.task("last") {
      try await gate.pass()
      return 1
    }
    let running = Self.task("running")
    running.schedule(after: last)
    let run = Task { try await running.runIfNeeded() }
    await gate.arrival()
    let middle = Self.task("middle")
    middle.schedule(after: running)
    #expect(try await Self.finishes(middle, opening: gate))
    #expect(try await run.value == 1)
  }

  @Test func manyThreadsThatEachAddAPartOfACircleCloseNone() async throws {
    let count = 3
    for _ in 0..<150 {
      let tasks = (0..<count).map { Self.task("\($0)") }
      let recorder = WarningRecorder()
      await recorder.record {
        await withTaskGroup(of: Void.self) { group in
          for index in 0..<count {
            group.addTask { tasks[index].schedule(after: tasks[(index + 1) % count]) }
          }
        }
      }
      #expect(recorder.warnings.count == 1)
      for task in tasks { #expect(try await task.runIfNeeded() == 1) }
    }
  }

  @Test func twoThreadsThatEachAddAHalfOfACircleCloseNone() async throws {
    for _ in 0..<300 {
      let first = Self.task("1")
      let second = Self.task("2")
      let recorder = WarningRecorder()
      await recorder.record {
        async let one: Void = { first.schedule(after: second) }()
        async let two: Void = { second.schedule(after: first) }()
        _ = await (one, two)
      }
      #expect(
        recorder.warnings == [Self.circle([first, second, first])]
          || recorder.warnings == [Self.circle([second, first, second])]
      )
      #expect(try await first.runIfNeeded() == 1)
      #expect(try await second.runIfNeeded() == 1)
    }
  }

  private static func finishes(_ task: QueryTask<Int>, opening gate: Gate) async throws -> Bool {
    gate.open()
    return try await task.runIfNeeded() == 1
  }

  // MARK: - Long chains

  @Test func aLongChainThatNobodyRunsIsReleasedWithoutRecursion() async {
    // A stack as small as that of the threads that run tasks.
    await runOnThreads(1, stackSize: 512 << 10) { _ in
      var last = Self.task("first")
      weak let first = last.run
      for index in 0..<100_000 {
        let next = Self.task("next")
        if index % 3 == 0 {
          next.schedule(after: last.map { "\($0)" })
        } else {
          next.schedule(after: last)
        }
        last = next
      }
      #expect(first != nil)
      last = Self.task("other")
      #expect(first == nil)
    }
  }

  @Test func aLongChainOfFetchesThatAreDroppedEndsWithoutRecursion() async {
    await runOnThreads(1, stackSize: 512 << 10) { _ in
      let store = QueryStore.detached(query: QueuedQuery(), initialState: QueuedState())
      var tasks = (0..<20_000).map { _ in store.fetchTask() }
      #expect(store.state.queue.count == 20_000)
      // Only the last one has a holder that nobody waits for.
      while tasks.count > 1 { tasks.removeFirst(tasks.count - 1) }
      #expect(store.state.queue.count == 20_000)
      tasks = []
      #expect(store.state.queue.isEmpty)
    }
  }
}

/// Runs its fetches one after another.
private struct QueuedQuery: QueryRequest {
  typealias State = QueuedState

  let path: QueryPath = ["queued"]

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Int>
  ) async throws -> Int { 1 }
}

private struct QueuedState: QueryStateProtocol {
  typealias StateValue = Int
  typealias QueryValue = Int
  typealias StatusValue = Int

  var queue = IdentifiedArrayOf<QueryTask<Int>>()
  var currentValue = 0
  let initialValue = 0
  var valueUpdateCount = 0
  var valueLastUpdatedAt: Date?
  var isLoading: Bool { !self.queue.isEmpty }
  var error: (any Error)?
  var errorUpdateCount = 0
  var errorLastUpdatedAt: Date?

  mutating func scheduleFetchTask(_ task: inout QueryTask<Int>) {
    if let last = self.queue.last { task.schedule(after: last) }
    self.queue.append(task)
  }

  mutating func reset(using context: QueryContext) { self = Self() }
  mutating func update(with result: Result<Int, any Error>, using context: QueryContext) {}
  mutating func update(with result: Result<Int, any Error>, for task: QueryTask<Int>) {}
  mutating func finishFetchTask(_ task: QueryTask<Int>) { self.queue.remove(id: task.id) }
}
