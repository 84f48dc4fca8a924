import Foundation
import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct QueryBackoffFunctionTests {
  // MARK: - Values

  @Test(
    arguments: [
      (.noBackoff, [0, 0, 0, 0, 0, 0, 0, 0]),
      (.constant(2), [2, 2, 2, 2, 2, 2, 2, 2]),
      (.linear(1.5), [0, 1.5, 3, 4.5, 6, 7.5, 9, 10.5]),
      (.exponential(0.5), [0, 0.5, 1, 2, 4, 8, 16, 32]),
      (.fibonacci(2), [0, 2, 2, 4, 6, 10, 16, 26]),
      (QueryBackoffFunction { TimeInterval($0 * $0) }, [0, 1, 4, 9, 16, 25, 36, 49]),
    ] as [(QueryBackoffFunction, [TimeInterval])]
  )
  func values(function: QueryBackoffFunction, seconds: [TimeInterval]) {
    #expect((0..<8).map { function($0) } == seconds)
  }

  @Test(
    arguments: [.noBackoff, .constant(0), .linear(0), .exponential(0), .fibonacci(0)]
      as [QueryBackoffFunction]
  )
  func anIntervalOfZeroNeverWaits(function: QueryBackoffFunction) {
    #expect((0..<100).allSatisfy { function($0) == 0 })
    #expect(function(5_000) == 0)
  }

  @Test func largeAttemptsNeitherTrapNorHang() {
    for attempt in [93, 1_000, 2_000, .max] {
      #expect(QueryBackoffFunction.linear(1)(attempt) == TimeInterval(attempt))
      #expect(QueryBackoffFunction.exponential(1)(attempt) > 1e20)
      #expect(QueryBackoffFunction.fibonacci(1)(attempt) > 1e18)
    }
  }

  // MARK: - Descriptions

  @Test(
    arguments: [
      (.noBackoff, "No Backoff"),
      (.constant(2), "Constant 2.0 secs"),
      (.constant(1), "Constant 1.0 sec"),
      (.linear(10), "Linear every 10.0 secs"),
      (.exponential(1), "Exponential every 1.0 sec"),
      (.fibonacci(0.5), "Fibonacci every 0.5 secs"),
      (QueryBackoffFunction { _ in 0 }, "Custom"),
      (QueryBackoffFunction("Mine") { _ in 0 }, "Mine"),
      (.constant(2).jittered(), "Constant 2.0 secs with jitter"),
      (QueryBackoffFunction { _ in 0 }.jittered().jittered(), "Custom with jitter with jitter"),
    ] as [(QueryBackoffFunction, String)]
  )
  func descriptions(function: QueryBackoffFunction, raw: String) {
    #expect(function.rawDescription == raw)
    #expect(function.description == "QueryBackoffFunction(\(raw))")
  }

  @Test func theDescriptionIsMadeWhenItIsAskedFor() {
    let count = Counter()
    let function = QueryBackoffFunction("Made \(count.increment()) times") { _ in 0 }
    #expect(count.value == 0)
    #expect(function.rawDescription == "Made 1 times")
    #expect(function.rawDescription == "Made 2 times")
  }

  // MARK: - Jitter

  @Test func jitterIsBetweenNothingAndTheInterval() {
    let function = QueryBackoffFunction.linear(10).jittered()
    for attempt in 1...200 {
      #expect((0..<(TimeInterval(attempt) * 10)).contains(function(attempt)))
    }
  }

  @Test func jitterTakesFromTheGeneratorAndKeepsItsState() {
    let function = QueryBackoffFunction.constant(8).jittered(using: Counting())
    var generator = Counting()
    let expected = (0..<5).map { _ in TimeInterval.random(in: 0..<8, using: &generator) }
    #expect((0..<5).map { function($0) } == expected)
    #expect(Set(expected).count == 5)
  }

  @Test func copiesShareTheGenerator() {
    let function = QueryBackoffFunction.constant(8).jittered(using: Counting())
    let copy = function
    #expect(function(1) != copy(1))
  }

  @Test func jitterOfNothingIsNothing() {
    #expect(QueryBackoffFunction.noBackoff.jittered()(3) == 0)
    #expect(QueryBackoffFunction.exponential(1).jittered()(0) == 0)
  }

  @Test func jitterLeavesWhatIsNoIntervalToTheOneWhoAsks() {
    #expect(QueryBackoffFunction { _ in .infinity }.jittered()(1) == .infinity)
    #expect(QueryBackoffFunction { _ in .nan }.jittered()(1).isNaN)
    #expect(QueryBackoffFunction { _ in -2 }.jittered()(1) == -2)
  }

  @Test func jitterServesManyThreads() {
    let function = QueryBackoffFunction.constant(1).jittered(using: Counting())
    let seen = Recorder<TimeInterval>()
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      for _ in 0..<100 { seen.append(function(1)) }
    }
    #expect(Set(seen.elements).count == 400)
  }

  // MARK: - Context

  @Test func theContextsDefaultIsExponential() {
    #expect(QueryContext().queryBackoffFunction.rawDescription == "Exponential every 1.0 sec")
  }

  @Test func theModifierSetsTheContextsFunction() {
    let store = QueryStore.detached(
      query: ProbeQuery().backoff(.fibonacci(3)).backoff(.noBackoff),
      initialValue: nil
    )
    #expect(store.context.queryBackoffFunction.rawDescription == "Fibonacci every 3.0 secs")
  }

  // MARK: - Bad input

  @Test func aNegativeConstantIsAPrecondition() async {
    await #expect(processExitsWith: .failure) { _ = QueryBackoffFunction.constant(-1) }
    await #expect(processExitsWith: .failure) { _ = QueryBackoffFunction.linear(-0.5) }
    await #expect(processExitsWith: .failure) { _ = QueryBackoffFunction.exponential(-1) }
    await #expect(processExitsWith: .failure) { _ = QueryBackoffFunction.fibonacci(-1) }
  }

  @Test func anIntervalThatIsNoNumberIsAPrecondition() async {
    await #expect(processExitsWith: .failure) { _ = QueryBackoffFunction.constant(.nan) }
    await #expect(processExitsWith: .failure) { _ = QueryBackoffFunction.linear(.nan) }
    await #expect(processExitsWith: .failure) { _ = QueryBackoffFunction.exponential(.nan) }
    await #expect(processExitsWith: .failure) { _ = QueryBackoffFunction.fibonacci(.nan) }
  }

  @Test func thePreconditionSaysWhatIsTaken() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      _ = QueryBackoffFunction.constant(-2)
    }
    try expectSentence(
      "A backoff takes a number of seconds that is not negative; got -2.0.", in: result)
  }
}

private struct Counting: RandomNumberGenerator {
  var count: UInt64 = 0

  mutating func next() -> UInt64 {
    self.count += 1
    return self.count &* 0x9E37_79B9_7F4A_7C15
  }
}
