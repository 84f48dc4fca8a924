import Foundation
import TestSupport
import Testing

@testable import Query

/// When one call for several begins, the answer that each of them gets, and how it ends.
@Suite struct BatchCallTests {
  private typealias Call = BatchCall<Int, String>

  private let outbox: any MutationOutbox = MemoryQueryStorage().outbox
  /// What each call was given.
  private let calls = Recorder<[Int]>()
  private let warnings = Recorder<Bool>()

  private func call(
    of count: Int, limit: Duration? = nil, grace: Duration = .seconds(3_600),
    isAboutOne: Bool = false,
    _ send: @escaping @Sendable ([Int]) async throws -> [Result<String, any Error>]
  ) -> Call {
    let (calls, warnings) = (self.calls, self.warnings)
    return Call(
      of: count,
      MutationBatching(maximum: count) { items, _ in
        calls.append(items.map(\.arguments))
        return try await send(items.map(\.arguments))
      },
      Call.Terms(
        limit: limit, grace: grace, sleep: QueryContext().sleep,
        timeLimitError: QueryTimeoutError(duration: limit ?? .zero),
        judge: { _, _ in Call.Judgement(isAboutOne: isAboutOne, maybeApplied: true) },
        warn: { warnings.append(true) }))
  }

  private func item(_ number: Int) -> BatchedMutation<Int> {
    let lease = MutationLease(
      entry: OutboxEntry(
        id: UUID(), number: number, name: "a", instance: "i", idempotencyKey: "key",
        createdAt: Date(), coder: "json", arguments: Data()),
      isReplay: true, token: 1, epoch: 0)
    return BatchedMutation(
      arguments: number,
      attempt: MutationAttempt(lease: lease, aliases: AttemptAliases(self.outbox)))
  }

  /// Joins at a place, with its number as the argument.
  private func join(_ call: Call, _ place: Int) -> Task<String, Never> {
    Task {
      switch await call.join(place, self.item(place), in: QueryContext(), endsForGood: { true }) {
      case .alone: "alone"
      case .result(.success(let text)): text
      case .result(.failure(let error as LeftOutOfBatch)): "left out \(error.maybeApplied)"
      case .result(.failure(let error)): "\(type(of: error))"
      }
    }
  }

  private func join(_ call: Call, _ places: Range<Int>) async -> [String] {
    let tasks = places.map { self.join(call, $0) }
    var answers = [String]()
    for task in tasks { answers.append(await task.value) }
    return answers
  }

  private static func texts(_ numbers: [Int]) -> [Result<String, any Error>] {
    numbers.map { .success("sent \($0)") }
  }

  @Test func itBeginsWhenAllHaveJoinedOrLeft() async {
    let call = self.call(of: 4) { Self.texts($0) }
    let second = self.join(call, 1)
    let first = self.join(call, 0)
    call.leave(2)
    #expect(self.calls.count == 0)
    call.leave(3)
    #expect(await first.value == "sent 0")
    #expect(await second.value == "sent 1")
    #expect(self.calls.elements == [[0, 1]], "in the order of the places, not of their coming")
  }

  @Test func itIsMadeInTheContextOfTheFirst() async {
    let levels = Recorder<NetworkConnectionStatus>()
    let call = Call(
      of: 2,
      MutationBatching(maximum: 2) { items, context in
        levels.append(context.satisfiedConnectionStatus)
        return Self.texts(items.map(\.arguments))
      },
      Call.Terms(
        limit: nil, grace: .seconds(3_600), sleep: QueryContext().sleep,
        timeLimitError: QueryTimeoutError(duration: .zero),
        judge: { _, _ in Call.Judgement(isAboutOne: false, maybeApplied: true) }, warn: {}))
    let given: [NetworkConnectionStatus] = [.requiresConnection, .connected]
    let tasks = given.enumerated().map { place, level in
      Task {
        var context = QueryContext()
        context.satisfiedConnectionStatus = level
        return await call.join(place, self.item(place), in: context, endsForGood: { true })
      }
    }
    for task in tasks { _ = await task.value }
    #expect(levels.elements == [.requiresConnection])
  }

  /// A mutation that leaves is sent later, so that those behind it must not be sent now.
  @Test(arguments: 0..<3) func nobodyIsSentBeforeOneThatHasLeft(place: Int) async {
    let call = self.call(of: 4) { Self.texts($0) }
    let others = (0..<4).filter { $0 != place }.map { (place: $0, task: self.join(call, $0)) }
    call.leave(place)
    for other in others {
      let alone = place == 1 ? "alone" : "sent \(other.place)"
      #expect(await other.task.value == (other.place < place ? alone : "left out false"))
    }
    #expect(self.calls.elements == (place == 2 ? [[0, 1]] : []))
  }

  @Test func theFirstOneIsSentAloneIfNobodyIsRightBehindIt() async {
    let call = self.call(of: 3) { Self.texts($0) }
    let only = self.join(call, 0)
    call.leave(1)
    call.leave(2)
    #expect(await only.value == "alone")
    // One that comes after all that has no call.
    #expect(await self.join(call, 1).value == "left out false")
    #expect(self.calls.count == 0)
  }

  @Test func leavingAfterTheCallHasBegunChangesNothing() async {
    let gate = Gate()
    let call = self.call(of: 2) { numbers in
      try await gate.pass()
      return Self.texts(numbers)
    }
    let tasks = [self.join(call, 0), self.join(call, 1)]
    await gate.arrival()
    call.leave(0)
    call.leave(1)
    gate.open()
    #expect(await tasks[0].value == "sent 0")
    #expect(await tasks[1].value == "sent 1")
    #expect(self.calls.count == 1)
  }

  @Test func eachHasTheResultAtItsPlaceAndTheRestIsLeftOut() async {
    let call = self.call(of: 4) { _ in [.success("a"), .failure(TestError())] }
    #expect(
      await self.join(call, 0..<4) == ["a", "TestError", "left out false", "left out false"])
    let none = self.call(of: 2) { _ in [] }
    #expect(await self.join(none, 0..<2) == ["EmptyBatchAnswer", "left out false"])
  }

  @Test func anErrorOfTheCallIsTheFirstOnesOrShowsThatItGoesAlone() async {
    let failing = self.call(of: 3) { _ in throw TestError() }
    #expect(
      await self.join(failing, 0..<3) == ["TestError", "left out true", "left out true"])
    let refusing = self.call(of: 2, isAboutOne: true) { _ in throw TestError() }
    #expect(await self.join(refusing, 0..<2) == ["alone", "left out true"])
  }

  @Test func whoWasCancelledBeforeTheCallIsNotSentAndNobodyBehindItIs() async {
    let call = self.call(of: 4) { Self.texts($0) }
    let member = Task {
      await call.join(2, self.item(2), in: QueryContext(), endsForGood: { true })
    }
    member.cancel()
    let others = [self.join(call, 0), self.join(call, 1), self.join(call, 3)]
    #expect(await others[0].value == "sent 0")
    #expect(await others[1].value == "sent 1")
    #expect(await others[2].value == "left out false")
    if case .result(.failure(let error)) = await member.value {
      #expect(error is CancellationError)
    } else {
      Issue.record("it was sent")
    }
    #expect(self.calls.elements == [[0, 1]])
  }

  /// Whether the first one was sent is not known, and it is sent again before the others.
  @Test(arguments: [false, true])
  func anErrorSendsNobodyAloneBeforeOneThatWasCancelled(isAboutOne: Bool) async {
    let gate = Gate()
    let call = self.call(of: 3, isAboutOne: isAboutOne) { _ in
      try await gate.pass()
      throw TestError()
    }
    let first = Task { await call.join(0, self.item(0), in: QueryContext(), endsForGood: { true }) }
    let others = [self.join(call, 1), self.join(call, 2)]
    await gate.arrival()
    first.cancel()
    _ = await first.value
    gate.open()
    for other in others { #expect(await other.value == "left out true") }
  }

  @Test func whoIsCancelledMeanwhileEndsAtOnceAndTheCallGoesOn() async {
    let gate = Gate()
    let call = self.call(of: 3) { numbers in
      try await gate.pass()
      return Self.texts(numbers)
    }
    let tasks = (0..<3).map { place in
      Task { await call.join(place, self.item(place), in: QueryContext(), endsForGood: { true }) }
    }
    await gate.arrival()
    tasks[0].cancel()
    guard case .result(.failure(let error)) = await tasks[0].value, error is CancellationError
    else {
      Issue.record("it has waited")
      return
    }
    gate.open()
    for place in 1...2 {
      guard case .result(.success(let text)) = await tasks[place].value else {
        Issue.record("\(place) has failed")
        continue
      }
      #expect(text == "sent \(place)")
    }
  }

  /// Given back at once, another process would send it beside the call.
  @Test(arguments: 0..<3, [false, true])
  func whoIsSentAgainWaitsForTheEndOfTheCall(place: Int, fails: Bool) async {
    let gate = Gate()
    let call = self.call(of: 3, isAboutOne: true) { numbers in
      try await gate.pass()
      if fails { throw TestError() }
      return Self.texts(numbers)
    }
    let isGateOpen = Locked(false)
    let cancelled = Task {
      let answer = await call.join(
        place, self.item(place), in: QueryContext(), endsForGood: { false })
      #expect(isGateOpen.withLock { $0 })
      return answer
    }
    let others = (0..<3).filter { $0 != place }.map { self.join(call, $0) }
    await gate.arrival()
    cancelled.cancel()
    // What it would do at once it does before this.
    for _ in 0..<100 { await Task.yield() }
    isGateOpen.withLock { $0 = true }
    gate.open()
    for other in others where !fails { #expect(await other.value.hasPrefix("sent")) }
    switch await cancelled.value {
    case .result(.success(let text)): #expect(!fails && text == "sent \(place)")
    case .result(.failure(let error)):
      #expect(fails && (place == 0 ? error is CancellationError : error is LeftOutOfBatch))
    case .alone: Issue.record("it is sent now")
    }
  }

  @Test func theLastOneCancelledCancelsTheCall() async {
    let gate = Gate()
    let call = self.call(of: 2) { numbers in
      try await gate.pass()
      return Self.texts(numbers)
    }
    let tasks = (0..<2).map { place in
      Task { await call.join(place, self.item(place), in: QueryContext(), endsForGood: { true }) }
    }
    await gate.arrival()
    for task in tasks { task.cancel() }
    // The gate stays shut: nothing but the cancellation ends this.
    for task in tasks {
      guard case .result(.failure(let error)) = await task.value else {
        Issue.record("it was sent")
        continue
      }
      #expect(error is CancellationError)
    }
  }

  /// Runs jobs on the thread that enqueues them, and from some moment on other threads.
  private final class InlineExecutor: TaskExecutor {
    let isInline = Locked(true)

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      guard !self.isInline.withLock({ $0 }) else {
        return job.runSynchronously(on: self.asUnownedTaskExecutor())
      }
      DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }

  /// One that is left out goes on before there is a call that could be cancelled.
  @Test func theLastOneCancelledAsTheCallBeginsCancelsIt() async {
    let gate = Gate()
    let call = self.call(of: 4) { numbers in
      try await gate.pass()
      return Self.texts(numbers)
    }
    let (members, other) = (InlineExecutor(), InlineExecutor())
    let tasks = (0..<2).map { place in
      Task(executorPreference: members) {
        await call.join(place, self.item(place), in: QueryContext(), endsForGood: { true })
      }
    }
    // A task holds a lock while it is cancelled.
    members.isInline.withLock { $0 = false }
    let leftOut = Task(executorPreference: other) {
      let answer = await call.join(
        3, self.item(3), in: QueryContext(), endsForGood: { true })
      for task in tasks { task.cancel() }
      return answer
    }
    call.leave(2)
    // The gate stays shut: nothing but the cancellation ends this.
    for task in tasks + [leftOut] {
      guard case .result(.failure) = await task.value else {
        Issue.record("it was sent")
        continue
      }
    }
  }

  @Test func theTimeOfTheCallIsTheFirstOnesFailure() async {
    let call = self.call(of: 2, limit: .milliseconds(5)) { _ in
      try await Task.sleep(for: .seconds(3_600))
      return []
    }
    #expect(await self.join(call, 0..<2) == ["QueryTimeoutError", "left out true"])
    #expect(self.warnings.count == 0)
  }

  @Test func aCallThatGoesOnPastItsTimeIsLeftBehindWithAWarning() async {
    let gate = Gate()
    let call = self.call(of: 2, limit: .milliseconds(5), grace: .milliseconds(5)) { numbers in
      await gate.passIgnoringCancellation()
      return Self.texts(numbers)
    }
    #expect(await self.join(call, 0..<2) == ["QueryTimeoutError", "left out true"])
    await self.warnings.wait(forCount: 1)
    // What it answers after that is nobody's.
    gate.open()
    #expect(self.calls.count == 1)
  }

  // MARK: - Turns

  @Test func theTurnOfAPlaceComesWhenAllBeforeItHaveLeft() async {
    let call = self.call(of: 4) { _ in [] }
    let turns = Recorder<Int>()
    let tasks = (0..<4).map { place in
      Task {
        await call.turn(of: place)
        turns.append(place)
        call.leave(place)
      }
    }
    for task in tasks.reversed() { await task.value }
    #expect(turns.elements == [0, 1, 2, 3])
  }

  @Test func whatLeavesOutOfItsTurnLetsNobodyPassThoseBeforeIt() async {
    let call = self.call(of: 3) { _ in [] }
    let turns = Recorder<Int>()
    let last = Task {
      await call.turn(of: 2)
      turns.append(2)
    }
    call.leave(1)
    await call.turn(of: 0)
    turns.append(0)
    call.leave(0)
    await last.value
    #expect(turns.elements == [0, 2])
  }
}
