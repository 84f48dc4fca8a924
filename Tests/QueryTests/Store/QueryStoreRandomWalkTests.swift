import Foundation
import Query
import TestSupport
import Testing

/// Random operations on a store, beside a model of it.
@Suite(.warningsAreIssues) struct QueryStoreRandomWalkTests {
  /// The seeds of this run: one fixed, one new, or the one in QUERY_TEST_SEED alone.
  private static var seeds: [UInt64] {
    if let text = ProcessInfo.processInfo.environment["QUERY_TEST_SEED"],
      let seed = UInt64(text)
    {
      return [seed]
    }
    return [1, 2, .random(in: .min ... .max)]
  }

  @Test(arguments: Self.seeds) func theStoreDoesWhatTheModelDoes(_ seed: UInt64) async throws {
    print("random walk: QUERY_TEST_SEED=\(seed)")
    var walk = RandomWalk(seed: seed)
    for step in 0..<3_000 {
      let operation = await walk.step()
      let failure = walk.difference
      try #require(
        failure == nil,
        "QUERY_TEST_SEED=\(seed), step \(step), \(operation): \(failure ?? "")"
      )
    }
    await walk.end()
  }
}

// MARK: - Walk

private struct RandomWalk {
  private struct Listener {
    let log: Recorder<String>
    let subscription: QuerySubscription
    var expected: [String]
  }

  private struct Fetch {
    let script: Script
    let run: Task<Int, any Error>
    let isStubborn: Bool
    /// Which life of the model it belongs to.
    let generation: Int
    var isCancelled = false
  }

  private var random: SplitMix
  private let scripts: Recorder<Script>
  private let store: IntStore
  private var model = Model()
  private var listeners = [Listener]()
  private var fetches = [Fetch]()
  private var unrun = [(task: QueryTask<Int>, generation: Int)]()

  init(seed: UInt64) {
    self.random = SplitMix(state: seed)
    let scripts = Recorder<Script>()
    self.scripts = scripts
    self.store = ScriptedQuery.store { context, continuation in
      let index = Int(context.mark) ?? 0
      return try await scripts.elements[index].run(with: continuation)
    }
  }

  /// Does something, and says what.
  mutating func step() async -> String {
    let number = Int.random(in: 0..<1_000, using: &self.random)
    switch Int.random(in: 0..<16, using: &self.random) {
    case 0, 1:
      self.store.currentValue = number
      self.change { $0.succeed(number) }
      return "set"
    case 2:
      self.store.setResult(to: .failure(TestError("\(number)")))
      self.change { $0.fail("TestError(\(number))") }
      return "set error"
    case 3:
      self.setExclusively(number)
      return "exclusive access"
    case 4: return self.subscribe()
    case 5: return self.unsubscribe()
    case 6 where number % 4 == 0:
      await self.reset()
      return "reset"
    case 6, 7, 8:
      await self.startFetch(isStubborn: number % 3 == 0)
      return "start"
    case 9, 10: return await self.command(.yield(number))
    case 11: return await self.command(.yieldError("\(number)"))
    case 12: return await self.command(number % 2 == 0 ? .finish(number) : .fail("\(number)"))
    case 13: return await self.cancel()
    case 14:
      if self.unrun.count < 4 {
        self.unrun.append((self.store.fetchTask(), self.model.generation))
        self.change { $0.active += 1 }
      }
      return "schedule"
    default: return self.endUnrun(isDropped: number % 2 == 0)
    }
  }

  /// What of the store or of its events is not as the model has it.
  var difference: String? {
    let state = description(of: self.store.state)
    if state != self.model.description {
      return "state \(state) rather than \(self.model.description)"
    }
    if self.store.subscriberCount != self.listeners.count { return "subscriber count" }
    for listener in self.listeners where listener.log.elements != listener.expected {
      return "events \(listener.log.elements.suffix(8)) rather than \(listener.expected.suffix(8))"
    }
    return nil
  }

  mutating func end() async {
    for fetch in self.fetches {
      fetch.script.send(.finish(0))
      _ = await fetch.run.result
    }
    self.unrun = []
    #expect(!self.store.isLoading)
  }
}

// MARK: - Changes

extension RandomWalk {
  private mutating func expect(_ events: String...) {
    for index in self.listeners.indices { self.listeners[index].expected += events }
  }

  private mutating func change(_ body: (inout Model) -> Void) {
    body(&self.model)
    self.expect(self.model.description)
  }

  private mutating func setExclusively(_ number: Int) {
    self.store.withExclusiveAccess { store in
      store.currentValue = number
      store.setResult(to: .failure(TestError("x")))
      store.currentValue = number + 1
    }
    self.change { $0.succeed(number) }
    self.change { $0.fail("TestError(x)") }
    self.change { $0.succeed(number + 1) }
  }

  private mutating func subscribe() -> String {
    guard self.listeners.count < 5 else { return "no more listeners" }
    let log = Recorder<String>()
    let subscription = self.store.subscribe(with: handler(to: log))
    self.listeners.append(
      Listener(log: log, subscription: subscription, expected: [self.model.description])
    )
    return "subscribe"
  }

  private mutating func unsubscribe() -> String {
    guard let index = self.listeners.indices.randomElement(using: &self.random) else {
      return "no listener"
    }
    self.listeners.remove(at: index).subscription.cancel()
    return "unsubscribe"
  }

  private mutating func endUnrun(isDropped: Bool) -> String {
    guard let index = self.unrun.indices.randomElement(using: &self.random) else {
      return "nothing scheduled"
    }
    let isCurrent = self.unrun[index].generation == self.model.generation
    if !isDropped { self.unrun[index].task.cancel() }
    self.unrun.remove(at: index)
    if isCurrent {
      self.change {
        $0.active -= 1
        if !isDropped { $0.fail("CancellationError()") }
      }
    }
    return isDropped ? "drop" : "cancel scheduled"
  }

  private mutating func reset() async {
    self.store.reset()
    self.change { $0.reset() }
    for fetch in self.fetches where !fetch.isStubborn {
      _ = await fetch.run.result
      self.expect("ended")
    }
    self.fetches.removeAll { !$0.isStubborn }
  }
}

// MARK: - Fetches

extension RandomWalk {
  private mutating func startFetch(isStubborn: Bool) async {
    guard self.fetches.count < 4 else { return }
    let script = Script(isStubborn: isStubborn)
    self.scripts.append(script)
    let context = QueryContext(mark: "\(self.scripts.count - 1)")
    let store = self.store
    let run = Task { try await store.fetch(using: context) }
    await script.isReady()
    self.fetches.append(
      Fetch(
        script: script,
        run: run,
        isStubborn: isStubborn,
        generation: self.model.generation
      )
    )
    self.change { $0.active += 1 }
    self.expect("started")
  }

  private mutating func command(_ command: Script.Command) async -> String {
    guard let index = self.fetches.indices.randomElement(using: &self.random) else {
      return "no fetch"
    }
    let fetch = self.fetches[index]
    let isCurrent = fetch.generation == self.model.generation
    fetch.script.send(command)
    if command.isFinal {
      self.fetches.remove(at: index)
      let result = await fetch.run.result
      let isThrown = fetch.isCancelled || !isCurrent
      if case .finish(let value) = command, !isThrown { #expect((try? result.get()) == value) }
      if case .finish = command, isThrown {
        #expect(throws: CancellationError.self, performing: result.get)
      }
    } else {
      await fetch.script.isReady()
    }
    guard isCurrent else {
      if command.isFinal { self.expect("ended") }
      return "\(command) of a fetch from before a reset"
    }
    self.expect("\(command.isFinal ? "returned" : "yielded") \(command.spelling)")
    self.change {
      if command.isFinal { $0.active -= 1 }
      switch command {
      case .yield(let value), .finish(let value): $0.succeed(value)
      case .yieldError, .fail: $0.fail(command.spelling)
      }
    }
    if command.isFinal { self.expect("ended") }
    return "\(command)"
  }

  private mutating func cancel() async -> String {
    guard let index = self.fetches.indices.randomElement(using: &self.random) else {
      return "no fetch"
    }
    self.fetches[index].run.cancel()
    self.fetches[index].isCancelled = true
    // A stubborn one goes on.
    guard !self.fetches[index].isStubborn else { return "cancel in vain" }
    let fetch = self.fetches.remove(at: index)
    _ = await fetch.run.result
    self.expect("returned CancellationError()")
    self.change {
      $0.active -= 1
      $0.fail("CancellationError()")
    }
    self.expect("ended")
    return "cancel"
  }
}

// MARK: - Model

private struct Model: CustomStringConvertible {
  var value: Int?
  var valueCount = 0
  var error: String?
  var errorCount = 0
  var active = 0
  var generation = 0

  mutating func succeed(_ value: Int) {
    self.value = value
    self.valueCount += 1
    self.error = nil
  }

  mutating func fail(_ error: String) {
    self.error = error
    self.errorCount += 1
  }

  mutating func reset() { self = Model(generation: self.generation + 1) }

  var description: String {
    """
    \(self.value.map { "\($0)" } ?? "-") \(self.valueCount) \(self.error ?? "-") \
    \(self.errorCount) \(self.active)
    """
  }
}

private func description(of state: IntState) -> String {
  """
  \(state.currentValue.map { "\($0)" } ?? "-") \(state.valueUpdateCount) \
  \(state.error.map { "\($0)" } ?? "-") \(state.errorUpdateCount) \(state.activeTasks.count)
  """
}

private func handler(to log: Recorder<String>) -> QueryEventHandler<IntState> {
  QueryEventHandler(
    onStateChanged: { state, _ in log.append(description(of: state)) },
    onFetchingStarted: { _ in log.append("started") },
    onFetchingEnded: { _ in log.append("ended") },
    onResultReceived: { result, context in
      let kind = context.queryResultUpdateReason == .yieldedResult ? "yielded" : "returned"
      switch result {
      case .success(let value): log.append("\(kind) \(value)")
      case .failure(let error): log.append("\(kind) \(error)")
      }
    }
  )
}

// MARK: - Script

/// A request that does what the walk tells it.
private final class Script: Sendable {
  enum Command {
    case yield(Int)
    case yieldError(String)
    case finish(Int)
    case fail(String)

    var isFinal: Bool {
      switch self {
      case .finish, .fail: true
      case .yield, .yieldError: false
      }
    }

    var spelling: String {
      switch self {
      case .yield(let value), .finish(let value): "\(value)"
      case .yieldError(let name), .fail(let name): "TestError(\(name))"
      }
    }
  }

  private let gate = Gate()
  private let next = Box<Command>(.finish(0))
  private let sent = Counter()
  private let isStubborn: Bool

  init(isStubborn: Bool) { self.isStubborn = isStubborn }

  /// Returns when the request waits for its next command.
  func isReady() async { await self.gate.arrival(self.sent.value + 1) }

  func send(_ command: Command) {
    self.next.value = command
    self.sent.increment()
    self.gate.letOneThrough()
  }

  func run(with continuation: QueryContinuation<Int>) async throws -> Int {
    while true {
      if self.isStubborn {
        await self.gate.passIgnoringCancellation()
      } else {
        try await self.gate.pass()
      }
      switch self.next.value {
      case .yield(let value): continuation.yield(value)
      case .yieldError(let name): continuation.yield(error: TestError(name))
      case .finish(let value): return value
      case .fail(let name): throw TestError(name)
      }
    }
  }
}

private struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    self.state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = self.state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}
