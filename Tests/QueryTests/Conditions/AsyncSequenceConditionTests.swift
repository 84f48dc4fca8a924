import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct AsyncSequenceConditionTests {
  private let emissions = Recorder<Bool>()

  @Test(arguments: [true, false]) func theInitialValueHoldsUntilTheFirstElement(value: Bool) {
    let (stream, continuation) = AsyncStream.makeStream(of: Bool.self)
    let condition: AsyncSequenceCondition = .observing(sequence: stream, initialValue: value)
    let subscription = condition.subscribe(in: QueryContext()) { [emissions] in
      emissions.append($0)
    }
    #expect(condition.isSatisfied(in: QueryContext()) == value)
    #expect(self.emissions.elements == [], "an observer is not called at first")
    subscription.cancel()
    continuation.finish()
  }

  @Test func observersGetEachValueAfterItIsTheConditions() async {
    let (stream, continuation) = AsyncStream.makeStream(of: Bool.self)
    let condition: AsyncSequenceCondition = .observing(sequence: stream, initialValue: false)
    let seen = Recorder<[Bool]>()
    let subscription = condition.subscribe(in: QueryContext()) { [weak condition] value in
      seen.append([value, condition?.isSatisfied(in: QueryContext()) ?? !value])
    }
    for value in [true, true, false] { continuation.yield(value) }
    await seen.wait(forCount: 3)
    #expect(seen.elements == [[true, true], [true, true], [false, false]])
    subscription.cancel()
    withExtendedLifetime(condition) {}
  }

  @Test func itIsConsumedFromItsCreationOn() async {
    let (stream, continuation) = AsyncStream.makeStream(of: Bool.self)
    let sequence = Watched(base: stream)
    let condition: AsyncSequenceCondition = .observing(sequence: sequence, initialValue: false)
    continuation.yield(true)
    await sequence.asked.wait(forCount: 2)
    #expect(condition.isSatisfied(in: QueryContext()))
  }

  @Test func itIsNoLongerConsumedWhenItIsReleased() async {
    let (stream, continuation) = AsyncStream.makeStream(of: Bool.self)
    let ended = Recorder<Void>()
    continuation.onTermination = { _ in ended.append(()) }
    var condition: AsyncSequenceCondition? = .observing(sequence: stream, initialValue: false)
    weak let released = condition
    condition = nil
    await ended.wait(forCount: 1)
    #expect(released == nil)
  }

  @Test func aSubscriptionDoesNotKeepTheCondition() async {
    let (stream, _) = AsyncStream.makeStream(of: Bool.self)
    var condition: AsyncSequenceCondition? = .observing(sequence: stream, initialValue: false)
    weak let released = condition
    let subscription = condition?.subscribe(in: QueryContext()) { _ in }
    condition = nil
    #expect(released == nil)
    subscription?.cancel()
  }

  @Test func theLastValueHoldsAfterTheSequencesEnd() async {
    let sequence = AsyncThrowingStream<Bool, any Error> { continuation in
      continuation.yield(true)
      continuation.finish(throwing: TestError())
    }
    let watched = Watched(base: sequence)
    let condition: AsyncSequenceCondition = .observing(sequence: watched, initialValue: false)
    await watched.asked.wait(forCount: 2)
    #expect(condition.isSatisfied(in: QueryContext()))
  }
}

/// Reports each request for the next element.
private struct Watched<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable
where Base.Element == Bool {
  let base: Base
  let asked = Recorder<Void>()

  func makeAsyncIterator() -> Iterator {
    Iterator(base: self.base.makeAsyncIterator(), asked: self.asked)
  }

  struct Iterator: AsyncIteratorProtocol {
    var base: Base.AsyncIterator
    let asked: Recorder<Void>

    mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(Base.Failure) -> Bool? {
      self.asked.append(())
      return try await self.base.next(isolation: actor)
    }
  }
}
