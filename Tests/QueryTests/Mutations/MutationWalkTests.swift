import Query
import TestSupport
import Testing

/// Random walks of a mutation's store beside ``MutationModel``: attempts, several in flight, with
/// yields and failures, manual values and errors, cancellations, dropped tasks and resets. After
/// each step the state and all events so far are compared.
@Suite(.warningsAreIssues) struct MutationWalkTests {
  @Test(.timeLimit(.minutes(10)), arguments: SeededGenerator.seeds(6))
  func aWalkIsAsTheModelSays(seed: UInt64) async throws {
    var walk = Walk(seed: seed)
    for step in 0..<300 {
      let action = await walk.step()
      let difference = walk.difference
      #expect(difference == nil, "seed \(seed), step \(step), \(action)")
      if difference != nil { break }
    }
    await walk.end()
  }
}

private struct Walk {
  private let calls = PendingCalls<String>()
  private let events = EventCollector<EchoState>()
  private let store: QueryStore<EchoState>
  private let subscription: QuerySubscription
  private var random: SeededGenerator
  private var model: MutationModel
  private var scheduled = [(id: QueryTaskIdentifier, task: QueryTask<String>)]()
  private var running = [(id: QueryTaskIdentifier, task: Task<Void, Never>)]()
  private var lastNumber = 0

  init(seed: UInt64) {
    self.random = SeededGenerator(seed: seed)
    let length = Int.random(in: 1...4, using: &self.random)
    self.model = MutationModel(length: length)
    let calls = self.calls
    let mutation = EchoMutation { call in
      try await calls.wait(for: call.context, call.continuation)
    }
    self.store = .detached(
      mutation: mutation.clock(.timeFreeze).maxHistory(length: length),
      initialValue: "initial"
    )
    self.subscription = self.store.subscribe(with: self.events.mutationHandler())
  }

  /// What differs between the store and the model.
  var difference: String? {
    let state = MutationModel.Snapshot(self.store.state)
    if state != self.model.snapshot { return "\(state) is not \(self.model.snapshot)" }
    let events = self.events.events
    let expected = self.model.events
    return events == expected ? nil : "\(events.suffix(12)) is not \(expected.suffix(12))"
  }

  /// Does something at random.
  mutating func step() async -> String {
    self.lastNumber += 1
    let text = "\(self.lastNumber)"
    let isFailing = Int.random(in: 0..<3, using: &self.random) == 0
    let result: Result<String, TestError> = isFailing ? .failure(TestError(text)) : .success(text)
    switch Int.random(in: 0..<100, using: &self.random) {
    case 0..<25: return self.schedule(text)
    case 25..<45: return await self.start()
    case 45..<58: return self.yield(result)
    case 58..<78: return await self.end(result)
    case 78..<88:
      self.model.set(result)
      self.store.setResult(to: result.map { $0 }.mapError { $0 })
      return "set \(result)"
    case 88..<92: return self.leave { $0.cancel($1) }
    case 92..<97: return self.leave(isDropping: true) { $0.drop($1) }
    default:
      self.model.reset()
      self.store.reset()
      self.scheduled = []
      return "reset"
    }
  }

  /// Lets everything that is under way end.
  func end() async {
    for (id, task) in self.running {
      self.calls.resume(id, with: .success("end"))
      await task.value
    }
    self.subscription.cancel()
  }

  // MARK: - Actions

  private mutating func schedule(_ arguments: String) -> String {
    if let latest = self.model.latestArguments, Bool.random(using: &self.random) {
      let task = self.store.retryLatestTask()
      self.model.schedule(latest, as: task.id)
      self.scheduled.append((task.id, task))
      return "retry \(task.id)"
    }
    let task = self.store.mutateTask(with: arguments)
    self.model.schedule(arguments, as: task.id)
    self.scheduled.append((task.id, task))
    return "schedule \(task.id)"
  }

  private mutating func start() async -> String {
    guard let index = self.scheduled.indices.randomElement(using: &self.random) else {
      return "nothing to start"
    }
    let (id, task) = self.scheduled.remove(at: index)
    self.model.start(id)
    self.running.append((id, Task { _ = try? await task.runIfNeeded() }))
    await self.calls.arrival(of: id)
    return "start \(id)"
  }

  private mutating func yield(_ result: Result<String, TestError>) -> String {
    guard let id = self.running.randomElement(using: &self.random)?.id else {
      return "nothing to yield"
    }
    self.model.yield(result, to: id)
    self.calls.yield(id, result.mapError { $0 })
    return "yield \(result) to \(id)"
  }

  private mutating func end(_ result: Result<String, TestError>) async -> String {
    guard let index = self.running.indices.randomElement(using: &self.random) else {
      return "nothing to end"
    }
    let (id, task) = self.running.remove(at: index)
    self.model.end(id, with: result)
    self.calls.resume(id, with: result)
    await task.value
    return "end \(id) with \(result)"
  }

  private mutating func leave(
    isDropping: Bool = false,
    _ change: (inout MutationModel, QueryTaskIdentifier) -> Void
  ) -> String {
    guard let index = self.scheduled.indices.randomElement(using: &self.random) else {
      return "nothing to leave"
    }
    let id = self.scheduled[index].id
    change(&self.model, id)
    if isDropping {
      self.scheduled.remove(at: index)
    } else {
      self.scheduled.remove(at: index).task.cancel()
    }
    return "leave \(id), dropping: \(isDropping)"
  }
}
