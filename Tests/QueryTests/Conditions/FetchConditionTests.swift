import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct FetchConditionTests {
  @Test(arguments: [true, false]) func alwaysNeverChanges(value: Bool) {
    let condition: AlwaysCondition = .always(value)
    let emissions = Recorder<Bool>()
    #expect(condition.isSatisfied(in: QueryContext()) == value)
    let subscription = condition.subscribe(in: QueryContext()) { emissions.append($0) }
    #expect(subscription == .empty)
    #expect(emissions.elements == [])
  }

  @Test(arguments: [true, false]) func alwaysEmitsFirstWhereItIsAskedTo(value: Bool) {
    let condition: AlwaysCondition = .always(value, shouldEmitInitialValue: true)
    let emissions = Recorder<Bool>()
    _ = condition.subscribe(in: QueryContext()) { emissions.append($0) }
    #expect(emissions.elements == [value])
  }

  @Test func anyFetchConditionHandsOnToItsBase() {
    let base = ManualCondition(false)
    let condition = AnyFetchCondition(base)
    let emissions = Recorder<Bool>()
    #expect(condition.base as? ManualCondition === base)
    #expect(!condition.isSatisfied(in: QueryContext()))
    let subscription = condition.subscribe(in: QueryContext()) { emissions.append($0) }
    base.send(true)
    #expect(condition.isSatisfied(in: QueryContext()))
    #expect(emissions.elements == [true])
    subscription.cancel()
    #expect(base.observerCount == 0)
  }

  @Test func anyFetchConditionTakesAnExistential() {
    let conditions: [any FetchCondition] = [.always(true), ManualCondition(false)]
    #expect(
      conditions.map { AnyFetchCondition($0).isSatisfied(in: QueryContext()) } == [true, false])
  }

  @Test func aConditionIsAskedInTheContextOfTheStore() {
    let query = ProbeQuery().enableAutomaticFetching(onlyWhen: RetriesAllowed())
    let store = QueryStore.detached(query: query, initialValue: nil)
    #expect(!store.isAutomaticFetchingEnabled)
    store.context.maxRetries = 1
    #expect(store.isAutomaticFetchingEnabled)
  }
}

private struct RetriesAllowed: FetchCondition {
  func isSatisfied(in context: QueryContext) -> Bool { context.maxRetries > 0 }

  func subscribe(
    in context: QueryContext,
    _ observer: @escaping @Sendable (Bool) -> Void
  ) -> QuerySubscription { .empty }
}
