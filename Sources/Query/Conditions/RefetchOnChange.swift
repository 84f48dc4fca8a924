extension QueryRequest {
  /// Refetches this query whenever a condition becomes satisfied, if the store has subscribers, is
  /// stale, and fetches by itself. The refetch is cancelled when the condition ends.
  ///
  /// - Parameter condition: The condition.
  public func refetchOnChange<Condition: FetchCondition>(
    of condition: Condition
  ) -> ControlledQuery<Self, _RefetchOnChangeController<State, Condition>> {
    self.controlled(by: _RefetchOnChangeController(condition: condition))
  }
}

public struct _RefetchOnChangeController<State: QueryStateProtocol, Condition: FetchCondition>:
  QueryController
{
  let condition: Condition

  public func control(with controls: QueryControls<State>) -> QuerySubscription {
    let context = controls.context
    let refetching = Refetching(
      store: controls.livingStore,
      isSatisfied: self.condition.isSatisfied(in: context)
    )
    let listener: ConditionListener = refetching
    let subscription = self.condition.subscribe(in: context) { listener.conditionChanged(to: $0) }
    // It may have changed between the first question and the subscription.
    refetching.conditionIs(self.condition.isSatisfied(in: context))
    return subscription
  }
}

/// What is told of a condition.
///
/// Not generic: a closure that holds it and no type is no object of its own, of which each store would have one.
// @unchecked: it has no variables.
private class ConditionListener: @unchecked Sendable {
  func conditionChanged(to isSatisfied: Bool) {}
}

/// The refetches of one store. A controller serves several stores, so each has its own.
// @unchecked: the variables are guarded by the lock of the store, without which there is nothing to do.
private final class Refetching<State: QueryStateProtocol>: ConditionListener, @unchecked Sendable {
  // Not the controls, which hold a context and a state for a store that is gone.
  private weak let store: QueryStore<State>?
  private var isSatisfied: Bool
  /// Whether the condition has told of itself.
  private var isTold = false
  /// Incremented by each change, so that a refetch knows whether its change is the last one.
  private var changeCount = 0
  private var task: TaskCancellation?

  init(store: QueryStore<State>?, isSatisfied: Bool) {
    self.store = store
    self.isSatisfied = isSatisfied
  }

  override func conditionChanged(to isSatisfied: Bool) { self.note(isSatisfied, isAnswer: false) }

  /// Records what the condition answers once it is subscribed to. What it has told since is newer.
  func conditionIs(_ isSatisfied: Bool) { self.note(isSatisfied, isAnswer: true) }

  private func note(_ isSatisfied: Bool, isAnswer: Bool) {
    // An emission may be on its way here when the store is released, which is not an error.
    guard let store = self.store else { return }
    let (change, ended) = store.withLock {
      let isOutdated = isAnswer && self.isTold
      if !isAnswer { self.isTold = true }
      guard !isOutdated, self.isSatisfied != isSatisfied else {
        return (nil as Int?, nil as TaskCancellation?)
      }
      self.isSatisfied = isSatisfied
      self.changeCount += 1
      return (self.changeCount, self.task.take())
    }
    guard let change else { return }
    ended?.cancelByStore()
    if isSatisfied { store.afterReplay { self.refetch(after: change) } }
  }

  private func refetch(after change: Int) {
    guard
      let store = self.store,
      store.isAutomaticFetchingEnabled,
      let task = store.makeTaskIfStale({
        guard store.subscriberCount > 0 else { return nil }
        return store.makeTask(in: store.context, name: .fetch).held()
      })
    else { return }
    let isWanted = store.withLock {
      // The condition may have ended meanwhile.
      guard self.changeCount == change else { return false }
      self.task = TaskCancellation(task)
      return true
    }
    if isWanted { task.start(in: task.context) }
  }
}
