import Query
import TestSupport
import Testing

/// Random walks of a store beside ``InfiniteQueryModel``: fetches of all kinds, several in flight,
/// with yields and failures, manual updates, cancellations and resets. After each step the state
/// and all events so far are compared.
@Suite(.warningsAreIssues) struct InfiniteQueryWalkTests {
  @Test(.timeLimit(.minutes(10)), arguments: SeededGenerator.seeds(6))
  func aWalkIsAsTheModelSays(seed: UInt64) async throws {
    var walk = Walk(seed: seed)
    for step in 0..<250 {
      let action = await walk.step()
      let difference = walk.difference
      #expect(difference == nil, "seed \(seed), step \(step), \(action)")
      if difference != nil { break }
    }
    await walk.end()
  }
}

private struct Walk {
  private let calls = PendingCalls<Int>()
  private let events = EventCollector<TestPagesState>()
  private let store: QueryStore<TestPagesState>
  private let subscription: QuerySubscription
  private var random: SeededGenerator
  private var model = InfiniteQueryModel()
  private var scheduled = [QueryTaskIdentifier: ScheduledTask]()
  private var running = [QueryTaskIdentifier: Task<Void, Never>]()
  private var lastValue = 0

  private struct ScheduledTask {
    let run: @Sendable () async -> Void
    let cancel: @Sendable () -> Void

    init<Value>(_ task: QueryTask<Value>) {
      self.run = { _ = try? await task.runIfNeeded() }
      self.cancel = { task.cancel() }
    }
  }

  init(seed: UInt64) {
    self.random = SeededGenerator(seed: seed)
    let calls = self.calls
    let source = PageSource(InfiniteQueryModel.limits, isRecording: false)
    self.store = PagesQuery(source) { call in
      try await calls.wait(for: call.context, call.continuation)
    }
    .store()
    self.subscription = self.store.subscribe(with: self.events.infiniteHandler())
  }

  /// What differs between the store and the model.
  var difference: String? {
    let state = InfiniteQueryModel.Snapshot(self.store.state)
    if state != self.model.snapshot { return "\(state) is not \(self.model.snapshot)" }
    let events = self.events.events
    let expected = self.model.events
    return events == expected ? nil : "\(events.suffix(12)) is not \(expected.suffix(12))"
  }

  /// Does something at random.
  mutating func step() async -> String {
    switch Int.random(in: 0..<100, using: &self.random) {
    case 0..<35: return self.schedule()
    case 35..<60: return await self.start()
    case 60..<70: return self.yield()
    case 70..<90: return await self.resume()
    case 90..<95: return self.set()
    case 95..<98: return self.cancel()
    default: return self.reset()
    }
  }

  /// Lets everything that is under way end.
  func end() async {
    for id in self.running.keys { self.calls.resume(id, with: .failure(TestError("end"))) }
    for task in self.running.values { await task.value }
    self.subscription.cancel()
  }

  // MARK: - Actions

  private mutating func schedule() -> String {
    let kind = InfiniteQueryModel.Kind.allCases.randomElement(using: &self.random) ?? .plain
    let isScheduled = self.model.canSchedule(kind)
    let id: QueryTaskIdentifier
    let task: ScheduledTask
    switch kind {
    case .plain: (id, task) = Self.scheduled(self.store.fetchTask())
    case .all: (id, task) = Self.scheduled(self.store.fetchAllPagesTask())
    case .next: (id, task) = Self.scheduled(self.store.fetchNextPageTask())
    case .previous: (id, task) = Self.scheduled(self.store.fetchPreviousPageTask())
    }
    if isScheduled {
      self.scheduled[id] = task
      self.model.schedule(kind, as: id)
    }
    return "schedule \(kind) \(id)"
  }

  private static func scheduled<Value>(
    _ task: QueryTask<Value>
  ) -> (QueryTaskIdentifier, ScheduledTask) {
    (task.id, ScheduledTask(task))
  }

  private mutating func start() async -> String {
    guard let id = self.pick(self.model.startable) else { return "nothing to start" }
    guard let task = self.scheduled.removeValue(forKey: id) else { return "not scheduled" }
    self.running[id] = Task { await task.run() }
    await self.settle(id, isOver: self.model.start(id))
    return "start \(id)"
  }

  private mutating func yield() -> String {
    guard let id = self.pick(self.model.runningIds) else { return "nothing to yield" }
    if Bool.random(using: &self.random) {
      self.lastValue += 1
      self.model.yield(.success(self.lastValue), to: id)
      self.calls.yield(id, .success(self.lastValue))
    } else {
      self.model.yield(.failure(TestError("yielded")), to: id)
      self.calls.yield(id, .failure(TestError("yielded")))
    }
    return "yield \(id)"
  }

  private mutating func resume() async -> String {
    guard let id = self.pick(self.model.runningIds + self.model.abandonedIds) else {
      return "nothing to resume"
    }
    self.lastValue += 1
    // An abandoned fetch of several pages would go on with the next one.
    let isFailing =
      self.model.abandonedIds.contains(id) || Int.random(in: 0..<4, using: &self.random) == 0
    let result: Result<Int, TestError> =
      isFailing ? .failure(TestError("\(self.lastValue)")) : .success(self.lastValue)
    let isOver = self.model.end(id, with: result)
    self.calls.resume(id, with: result)
    await self.settle(id, isOver: isOver)
    return "resume \(id) with \(result)"
  }

  private mutating func settle(_ id: QueryTaskIdentifier, isOver: Bool) async {
    if isOver {
      await self.running.removeValue(forKey: id)?.value
    } else {
      await self.calls.arrival(of: id)
    }
  }

  private mutating func set() -> String {
    let first = Int.random(in: -4...4, using: &self.random)
    let count = Int.random(in: 0...3, using: &self.random)
    let pages = TestPages(
      uniqueElements: (first..<first + count).map { TestPage(id: $0, value: -$0) }
    )
    self.model.set(pages)
    self.store.currentValue = pages
    return "set \(pages.ids)"
  }

  private mutating func cancel() -> String {
    guard let id = self.pick(Array(self.scheduled.keys)) else { return "nothing to cancel" }
    self.model.cancel(id)
    self.scheduled.removeValue(forKey: id)?.cancel()
    return "cancel \(id)"
  }

  private mutating func reset() -> String {
    self.model.reset()
    self.store.reset()
    self.scheduled = [:]
    return "reset"
  }

  private mutating func pick(_ ids: [QueryTaskIdentifier]) -> QueryTaskIdentifier? {
    // In the order in which they were made, which is the same in each run of a seed.
    let numbered = ids.map { (id: $0, number: Int($0.debugDescription.dropFirst()) ?? 0) }
    return numbered.sorted { $0.number < $1.number }.randomElement(using: &self.random)?.id
  }
}
