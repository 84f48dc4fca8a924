import Foundation
import Query
import TestSupport
import Testing

/// The executors on which requests run.
@Suite(.warningsAreIssues) struct QueryStoreIsolationTests {
  @TaskLocal private static var local = "none"

  private actor Caller {
    func fetch(_ store: IntStore) async throws -> Int { try await store.fetch() }
    func fetch(_ store: IntStore, handler: QueryEventHandler<IntState>) async throws -> Int {
      try await store.fetch(handler: handler)
    }
    func run(_ task: QueryTask<Int>) async throws -> Int { try await task.runIfNeeded() }
    func run(mapped task: QueryTask<Int>) async throws -> Int {
      try await task.map { $0 + 1 }.map { $0 - 1 }.runIfNeeded()
    }
  }

  /// A store whose request runs on the actor of its caller, before and after it waits.
  private static func store(on actor: any Actor) -> IntStore {
    ScriptedQuery.store { _, _ in
      actor.preconditionIsolated()
      await Task.yield()
      actor.preconditionIsolated()
      return 1
    }
  }

  @Test @MainActor func aRequestRunsOnTheMainActorOfItsCaller() async throws {
    let store = Self.store(on: MainActor.shared)
    #expect(try await store.fetch() == 1)
    #expect(try await store.fetch(handler: QueryEventHandler(onFetchingEnded: { _ in })) == 1)
    #expect(try await store.fetch(using: QueryContext()) == 1)
    #expect(try await store.fetchTask().runIfNeeded() == 1)
    #expect(try await store.fetchTask().map { $0 }.runIfNeeded() == 1)
  }

  @Test @MainActor func aFetchOnTheMainActorComesToItsRequestWithoutLeaving() async throws {
    let order = Recorder<String>()
    let query = ScriptedQuery { _, _ in
      order.append("request")
      return 1
    }
    let client = QueryClient()
    let others = [
      client.store(for: query.deduplicated()),
      QueryStore.detached(query: query, initialValue: nil),
    ]
    for store in others {
      let other = Task { @MainActor in order.append("other") }
      #expect(try await store.fetch() == 1)
      order.append("value")
      await other.value
      #expect(order.removeAll() == ["request", "value", "other"])
    }
  }

  @Test func aRequestRunsOnTheActorOfItsCaller() async throws {
    let caller = Caller()
    let store = Self.store(on: caller)
    #expect(try await caller.fetch(store) == 1)
    #expect(
      try await caller.fetch(store, handler: QueryEventHandler(onFetchingEnded: { _ in })) == 1
    )
    #expect(try await caller.run(store.fetchTask()) == 1)
    #expect(try await caller.run(mapped: store.fetchTask()) == 1)
  }

  @Test func theFirstToRunATaskDecides() async throws {
    let first = Caller()
    let second = Caller()
    let gate = Gate()
    let store = ScriptedQuery.store { _, _ in
      first.preconditionIsolated()
      try await gate.pass()
      first.preconditionIsolated()
      return 1
    }
    let task = store.fetchTask()
    let runs = [Task { try await first.run(task) }]
    await gate.arrival()
    let late = Task { try await second.run(task) }
    gate.open()
    #expect(try await late.value == 1)
    #expect(try await runs[0].value == 1)
  }

  @Test @MainActor func anAutomaticFetchRunsOnNoActor() async throws {
    let isMain = Recorder<Bool>()
    var context = QueryContext()
    context.enableAutomaticFetchingCondition = .always(true)
    let store = ScriptedQuery.store(in: context) { _, _ in
      isMain.append(Self.isMainThread)
      return 1
    }
    let subscription = store.subscribe(with: QueryEventHandler())
    await isMain.wait(forCount: 1)
    #expect(isMain.elements == [false])
    withExtendedLifetime(subscription) {}
  }

  @Test @MainActor func aDependencyRunsOnNoActor() async throws {
    let isMain = Recorder<Bool>()
    let first = ScriptedQuery.store { _, _ in
      isMain.append(Self.isMainThread)
      return 1
    }
    let second = Self.store(on: MainActor.shared)
    let dependency = first.fetchTask()
    let task = second.fetchTask()
    task.schedule(after: dependency)
    try await task.runIfNeeded()
    #expect(isMain.elements == [false])
  }

  @Test func aPreferredExecutorRunsTheWork() async throws {
    let executor = QueueExecutor()
    let store = ScriptedQuery.store { _, _ in
      dispatchPrecondition(condition: .onQueue(executor.queue))
      return 1
    }
    let configuration = QueryTaskConfiguration(executorPreference: executor)
    #expect(try await store.fetch(using: configuration) == 1)
    store.context.queryTaskConfiguration.executorPreference = executor
    #expect(try await store.fetch() == 1)
    store.context.enableAutomaticFetchingCondition = .always(true)
    let collector = EventCollector<IntState>()
    let subscription = store.subscribe(with: collector.handler)
    await collector.wait(for: .fetchingEnded)
    #expect(store.valueUpdateCount == 3)
    withExtendedLifetime(subscription) {}
  }

  @Test func priorityAndNameAreThoseOfTheConfiguration() async throws {
    let seen = Recorder<String>()
    let store = ScriptedQuery.store { _, _ in
      seen.append("\(Task.name ?? "nil") \(Task.currentPriority == .background)")
      return 1
    }
    let task = store.fetchTask(
      using: QueryTaskConfiguration(name: "mine", priority: .background)
    )
    // Waiting would raise the priority, so nobody waits before it was read.
    let run = Task(priority: .background) { try await task.runIfNeeded() }
    await seen.wait(forCount: 1)
    _ = try await run.value
    #expect(seen.elements == ["mine true"])
  }

  @Test func taskLocalsAreThoseOfTheCaller() async throws {
    let store = ScriptedQuery.store { _, _ in
      #expect(Self.local == "caller")
      return 1
    }
    let dependency = QueryTask(context: QueryContext()) { _, _ in #expect(Self.local == "caller") }
    let task = store.fetchTask()
    task.schedule(after: dependency)
    try await Self.$local.withValue("caller") {
      _ = try await store.fetch()
      _ = try await task.runIfNeeded()
    }
    #expect(store.valueUpdateCount == 2)
  }

  private static var isMainThread: Bool { Thread.isMainThread }
}

private final class QueueExecutor: TaskExecutor {
  let queue = DispatchQueue(label: "executor")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    self.queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
