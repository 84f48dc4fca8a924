import Query
import TestSupport
import Testing

extension QueryContext {
  fileprivate enum TestKey: Key {
    static let defaultValue = 0
  }

  fileprivate enum GenericKey<Value: Sendable>: Key {
    static var defaultValue: Value? { nil }
  }
}

private enum CountedKey: QueryContext.Key {
  static let evaluations = Counter()
  static var defaultValue: Int { self.evaluations.increment() }
}

@Suite struct QueryContextTests {
  @Test func aKeyThatIsNotSetHasItsDefaultEvaluatedAtEachRead() {
    let context = QueryContext()
    let first = context[CountedKey.self]
    let second = context[CountedKey.self]
    #expect(second == first + 1)
    var other = context
    other[CountedKey.self] = 100
    #expect(other[CountedKey.self] == 100)
    #expect(context[CountedKey.self] == second + 1)
  }

  @Test func aValueIsThatOfItsKeyType() {
    var context = QueryContext()
    context[QueryContext.GenericKey<Int>.self] = 1
    context[QueryContext.GenericKey<String>.self] = "a"
    #expect(context[QueryContext.GenericKey<Int>.self] == 1)
    #expect(context[QueryContext.GenericKey<String>.self] == "a")
    #expect(context[QueryContext.GenericKey<Bool>.self] == nil)
  }

  @Test func copiesAreIndependent() {
    var first = QueryContext(mark: "first")
    first[QueryContext.TestKey.self] = 1
    var second = first
    second.mark = "second"
    first[QueryContext.TestKey.self] = 2
    #expect(first.mark == "first" && second.mark == "second")
    #expect(first[QueryContext.TestKey.self] == 2 && second[QueryContext.TestKey.self] == 1)
    first.mark = "third"
    #expect(second.mark == "second")
  }

  @Test func valuesSetInALoopAreIndependentOfEarlierCopies() {
    var context = QueryContext()
    var copies = [QueryContext]()
    for value in 0..<300 {
      context[QueryContext.TestKey.self] = value
      if value % 3 == 0 { context.mark = "\(value)" }
      copies.append(context)
    }
    for (value, copy) in copies.enumerated() {
      #expect(copy[QueryContext.TestKey.self] == value)
      #expect(copy.mark == "\(value - value % 3)")
    }
  }

  @Test func aValueThatIsReplacedIsReleased() {
    var context = QueryContext()
    var tracked: Tracked? = Tracked()
    weak let released = tracked
    context[QueryContext.GenericKey<Tracked>.self] = tracked
    tracked = nil
    #expect(released != nil)
    context[QueryContext.GenericKey<Tracked>.self] = nil
    #expect(released == nil)
  }

  @Test func theDescriptionShowsTheKeysThatWereSet() {
    var context = QueryContext()
    #expect(context.description == "[]")
    context[QueryContext.TestKey.self] = 1
    #expect(context.description == "[QueryContext.TestKey = 1]")
    let copy = context
    context[QueryContext.TestKey.self] = 2
    #expect(context.description == "[QueryContext.TestKey = 2]")
    #expect(copy.description == "[QueryContext.TestKey = 1]")
    context[QueryContext.GenericKey<Int>.self] = 3
    #expect(
      [
        "[QueryContext.TestKey = 2, QueryContext.GenericKey = Optional(3)]",
        "[QueryContext.GenericKey = Optional(3), QueryContext.TestKey = 2]",
      ].contains(context.description)
    )
  }

  @Test func theDefaultsOfTheLibraryAreThoseOfTheContract() {
    let context = QueryContext()
    #expect(context.queryClient == nil)
    #expect(context.currentFetchingQueryStore == nil)
    #expect(context.queryTaskConfiguration.name == nil)
    #expect(context.queryRunningTaskIdentifier == nil)
    #expect(context.queryResultUpdateReason == nil)
    #expect(context.retryIndex == 0 && context.maxRetries == 0)
    #expect(context.isFirstFetchAttempt && !context.isFirstRetryAttempt)
    #expect(context.isLastRetryAttempt)
    #expect(context.queryControllers.isEmpty)
    #expect(!context.enableAutomaticFetchingCondition.isSatisfied(in: context))
    #expect(context.satisfiedConnectionStatus == .connected)
    #expect(context.isApplicationActiveRefetchingEnabled)
    #expect(context.evictableMemoryPressure == .defaultEvictable)
    #expect(context.queryBackoffFunction(3) == QueryBackoffFunction.exponential(1)(3))
    #expect(
      context.staleWhenRevalidateCondition.evaluate(
        state: QueryState<Int?, Int>(initialValue: nil),
        in: context
      )
    )
  }

  @Test func contextsAreReadFromManyThreadsWhileCopiesAreWritten() async {
    var context = QueryContext(mark: "shared")
    for _ in 0..<10 { context[QueryContext.TestKey.self] = 1 }
    let shared = context
    await runOnThreads(4) { thread in
      var own = shared
      for round in 0..<2_000 {
        own[QueryContext.TestKey.self] = thread * 10_000 + round
        if round % 7 == 0 { own = shared }
        #expect(own.mark == "shared")
        #expect(shared[QueryContext.TestKey.self] == 1)
      }
    }
  }
}
