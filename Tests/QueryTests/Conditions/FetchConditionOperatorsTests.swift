import Dispatch
import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct FetchConditionOperatorsTests {
  private let left = ManualCondition(false)
  private let right = ManualCondition(false)
  private let emissions = Recorder<Bool>()

  private func subscribe(to condition: some FetchCondition) -> QuerySubscription {
    condition.subscribe(in: QueryContext()) { [emissions] in emissions.append($0) }
  }

  // MARK: - Values

  @Test(arguments: [false, true], [false, true]) func truthTables(left: Bool, right: Bool) {
    let (a, b) = (ManualCondition(left), ManualCondition(right))
    let context = QueryContext()
    #expect((!a).isSatisfied(in: context) == !left)
    #expect((a && b).isSatisfied(in: context) == (left && right))
    #expect((a || b).isSatisfied(in: context) == (left || right))
    #expect((!(a && b) || !b).isSatisfied(in: context) == (!(left && right) || !right))
  }

  @Test func typesAreTheDocumentedOnes() {
    let not: NotCondition<ManualCondition> = !self.left
    let and: BinaryOperatorCondition<ManualCondition, ManualCondition, _AndOperator> =
      self.left && self.right
    let or: BinaryOperatorCondition<ManualCondition, ManualCondition, _OrOperator> =
      self.left || self.right
    #expect(not.isSatisfied(in: QueryContext()))
    #expect(!and.isSatisfied(in: QueryContext()))
    #expect(!or.isSatisfied(in: QueryContext()))
  }

  @Test func plainBooleansStillCombine() {
    let (yes, no) = (true, false)
    let numbers = [1, 2, 3]
    #expect(!no)
    #expect(yes && !no)
    #expect(yes || no)
    #expect(!(yes && no) || no)
    #expect(numbers.filter { $0 > 1 && !($0 == 3) || $0 == 1 } == [1, 2])
    let evaluations = Counter()
    _ = no && evaluations.increment() > 0
    _ = yes || evaluations.increment() > 0
    #expect(evaluations.value == 0)
  }

  @Test func shorthandsCombine() {
    let observer = MockNetworkObserver()
    let query = ProbeQuery().enableAutomaticFetching(
      onlyWhen: .connected(to: observer) && !self.left || .always(false)
    )
    let store = QueryStore.detached(query: query, initialValue: nil)
    #expect(store.isAutomaticFetchingEnabled)
    self.left.send(true)
    #expect(!store.isAutomaticFetchingEnabled)
  }

  // MARK: - Emissions

  @Test func notEmitsTheOpposite() {
    let subscription = self.subscribe(to: !self.left)
    #expect(self.emissions.elements == [])
    self.left.send(true)
    self.left.send(true)
    self.left.send(false)
    #expect(self.emissions.elements == [false, false, true])
    subscription.cancel()
    self.left.send(true)
    #expect(self.emissions.count == 3)
    #expect(self.left.observerCount == 0)
  }

  @Test func andEmitsTheCombinedValueAtEveryEmission() {
    self.right.send(true)
    let subscription = self.subscribe(to: self.left && self.right)
    self.left.send(true)
    self.left.send(true)
    self.right.send(false)
    self.left.send(false)
    self.right.send(true)
    #expect(self.emissions.elements == [true, true, false, false, false])
    subscription.cancel()
    #expect(self.left.observerCount + self.right.observerCount == 0)
  }

  @Test func orEmitsTheCombinedValueAtEveryEmission() {
    let subscription = self.subscribe(to: self.left || self.right)
    self.left.send(true)
    self.right.send(true)
    self.left.send(false)
    self.right.send(false)
    #expect(self.emissions.elements == [true, true, true, false])
    subscription.cancel()
  }

  @Test func aFirstEmissionIsCombinedWithTheOtherSidesValue() {
    self.right.send(true)
    let observer = MockNetworkObserver()
    let subscription = self.subscribe(to: .connected(to: observer) && self.right)
    #expect(self.emissions.elements == [true])
    subscription.cancel()
  }

  @Test func aSideThatChangesBeforeItsSubscriptionIsNotMissed() {
    // It is not satisfied when it is first asked, and is when it is subscribed to.
    let early = ChangingWhenAsked()
    let subscription = self.subscribe(to: early && self.right)
    self.right.send(true)
    #expect(self.emissions.elements == [true])
    subscription.cancel()

    let late = ChangingWhenAsked()
    let other = self.subscribe(to: self.left && late)
    self.left.send(true)
    #expect(self.emissions.elements == [true, true])
    other.cancel()
  }

  @Test func anEmissionIsNewerThanTheAnswerOfTheSameSide() {
    // What it emits while it is subscribed to holds, whatever it answers.
    let subscription = self.subscribe(to: EmittingTrue() && self.right)
    self.right.send(true)
    #expect(self.emissions.elements == [false, true])
    subscription.cancel()
  }

  // MARK: - Order

  @Test(arguments: [false, true])
  func theLastValueComesLastIfBothSidesChangeAtOnce(isAnd: Bool) async {
    if !isAnd { self.right.send(true) }
    let (calls, firstCalls) = (Counter(), Recorder<Bool>())
    let bothHaveEmitted = DispatchSemaphore(value: 0)
    let observer: @Sendable (Bool) -> Void = { [emissions] value in
      if calls.increment() == 1 {
        firstCalls.append(value)
        bothHaveEmitted.wait()
      }
      emissions.append(value)
    }
    let subscription =
      isAnd
      ? (self.left && self.right).subscribe(in: QueryContext(), observer)
      : (self.left || self.right).subscribe(in: QueryContext(), observer)
    // And: false, then true. Or: true, then false.
    let first = Task { [left, right] in
      await runOnThreads(1) { _ in if isAnd { right.send(true) } else { left.send(false) } }
    }
    await firstCalls.wait(forCount: 1)
    if isAnd { self.left.send(true) } else { self.right.send(false) }
    bothHaveEmitted.signal()
    await first.value
    #expect(self.emissions.elements == [!isAnd, isAnd])
    subscription.cancel()
  }

  @Test func nothingIsHeardAfterTheSubscriptionHasEnded() {
    let observed = Box<QuerySubscription?>(nil)
    let subscription = (self.left || self.right).subscribe(in: QueryContext()) {
      [emissions, left] value in
      emissions.append(value)
      // Emits once more, which is delivered after this call, and ends the subscription before that.
      if emissions.count == 1 {
        left.send(false)
        observed.value?.cancel()
      }
    }
    observed.value = subscription
    self.left.send(true)
    #expect(self.emissions.elements == [true])
  }
}

/// Becomes satisfied between the first question and what comes next, and emits nothing.
private final class ChangingWhenAsked: FetchCondition {
  private let isAsked = Locked(false)

  func isSatisfied(in context: QueryContext) -> Bool {
    self.isAsked.withLock { isAsked in
      defer { isAsked = true }
      return isAsked
    }
  }

  func subscribe(
    in context: QueryContext,
    _ observer: @escaping @Sendable (Bool) -> Void
  ) -> QuerySubscription { .empty }
}

private struct EmittingTrue: FetchCondition {
  func isSatisfied(in context: QueryContext) -> Bool { false }

  func subscribe(
    in context: QueryContext,
    _ observer: @escaping @Sendable (Bool) -> Void
  ) -> QuerySubscription {
    observer(true)
    return .empty
  }
}
