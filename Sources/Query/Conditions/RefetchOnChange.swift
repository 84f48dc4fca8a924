import Synchronization

extension QueryRequest {
  /// Refetches this query whenever a condition becomes satisfied, where the store has subscribers,
  /// is stale, and fetches by itself. The refetch is cancelled when the condition ends.
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
      controls: controls,
      isSatisfied: self.condition.isSatisfied(in: context)
    )
    return self.condition.subscribe(in: context) { refetching.conditionChanged(to: $0) }
  }
}

/// What one store refetches. A controller serves several, so each has its own.
private final class Refetching<State: QueryStateProtocol>: Sendable {
  /// Guarded by the mutex.
  private struct Progress {
    var isSatisfied: Bool
    var task: QueryTask<State.QueryValue>?
  }

  private let controls: QueryControls<State>
  private let progress: Mutex<Progress>

  init(controls: QueryControls<State>, isSatisfied: Bool) {
    self.controls = controls
    self.progress = Mutex(Progress(isSatisfied: isSatisfied))
  }

  func conditionChanged(to isSatisfied: Bool) {
    let (isChange, ended) = self.progress.withLock { progress in
      guard progress.isSatisfied != isSatisfied else {
        return (false, nil as QueryTask<State.QueryValue>?)
      }
      progress.isSatisfied = isSatisfied
      defer { progress.task = nil }
      return (true, progress.task)
    }
    guard isChange else { return }
    ended?.cancel()
    if isSatisfied { self.refetch() }
  }

  private func refetch() {
    guard
      self.controls.subscriberCount > 0,
      self.controls.isStale,
      let task = self.controls.yieldRefetchTask()
    else { return }
    let isWanted = self.progress.withLock { progress in
      // The condition may have ended meanwhile.
      guard progress.isSatisfied else { return false }
      progress.task = task
      return true
    }
    if isWanted { task.start(in: task.context) }
  }
}
