import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct ApplicationIsActiveConditionTests {
  private let observer = ManualActivity()
  private let emissions = Recorder<Bool>()

  private func subscribe(
    to condition: ApplicationIsActiveCondition,
    in context: QueryContext = QueryContext()
  ) -> QuerySubscription {
    condition.subscribe(in: context) { [emissions] in emissions.append($0) }
  }

  @Test func anApplicationIsActiveUntilTheObserverSaysOtherwise() {
    let condition: ApplicationIsActiveCondition = .applicationIsActive(observer: self.observer)
    #expect(condition.isSatisfied(in: QueryContext()))
    self.observer.send(false)
    #expect(!condition.isSatisfied(in: QueryContext()))
    self.observer.send(true)
    #expect(condition.isSatisfied(in: QueryContext()))
  }

  @Test func subscribersGetTheCurrentValueFirstAndThenChanges() {
    let condition: ApplicationIsActiveCondition = .applicationIsActive(observer: self.observer)
    self.observer.send(false)
    let subscription = self.subscribe(to: condition)
    for value in [false, true, true, false] { self.observer.send(value) }
    #expect(self.emissions.elements == [false, true, false])
    subscription.cancel()
    self.observer.send(true)
    #expect(self.emissions.count == 3)
  }

  @Test func severalSubscribersHearOfEachChange() {
    let condition: ApplicationIsActiveCondition = .applicationIsActive(observer: self.observer)
    let first = self.subscribe(to: condition)
    let second = self.subscribe(to: condition)
    self.observer.send(false)
    #expect(self.emissions.elements == [true, true, false, false])
    first.cancel()
    second.cancel()
  }

  @Test func isNeverSatisfiedWhereTheContextDisablesIt() {
    let condition: ApplicationIsActiveCondition = .applicationIsActive(observer: self.observer)
    var context = QueryContext()
    context.isApplicationActiveRefetchingEnabled = false
    #expect(!condition.isSatisfied(in: context))
    let subscription = self.subscribe(to: condition, in: context)
    #expect(subscription == .empty)
    self.observer.send(false)
    self.observer.send(true)
    #expect(self.emissions.elements == [false])
  }

  @Test func itsObservationEndsWithIt() {
    var condition: ApplicationIsActiveCondition? = .applicationIsActive(observer: self.observer)
    weak let released = condition
    let subscription = condition.map { self.subscribe(to: $0) }
    #expect(self.observer.handlerCount == 1)
    condition = nil
    #expect(released == nil)
    #expect(self.observer.handlerCount == 0)
    subscription?.cancel()
  }

  @Test func theModifierSetsTheContext() {
    #expect(QueryContext().isApplicationActiveRefetchingEnabled)
    let disabled = ProbeQuery().disableApplicationActiveRefetching()
    let enabled = ProbeQuery().disableApplicationActiveRefetching(false)
      .disableApplicationActiveRefetching()
    let store = QueryStore.detached(query: disabled, initialValue: nil)
    let other = QueryStore.detached(query: enabled, initialValue: nil)
    #expect(!store.context.isApplicationActiveRefetchingEnabled)
    #expect(other.context.isApplicationActiveRefetchingEnabled)
  }
}

/// An activity that the test sets.
final class ManualActivity: ApplicationActivityObserver {
  private let handlers = Locked((last: 0, all: [Int: @Sendable (Bool) -> Void]()))

  var handlerCount: Int { self.handlers.withLock { $0.all.count } }

  func send(_ isActive: Bool) {
    let handlers = self.handlers.withLock { $0.all.sorted { $0.key < $1.key }.map(\.value) }
    for handler in handlers { handler(isActive) }
  }

  func subscribe(_ handler: @escaping @Sendable (Bool) -> Void) -> QuerySubscription {
    let id = self.handlers.withLock { handlers in
      handlers.last += 1
      handlers.all[handlers.last] = handler
      return handlers.last
    }
    return QuerySubscription { _ = self.handlers.withLock { $0.all.removeValue(forKey: id) } }
  }
}
