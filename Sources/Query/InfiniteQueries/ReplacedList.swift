import FoundationEssentials

/// The list that the yields of a refetch of all pages have replaced by the pages so far: a refetch that fails
/// leaves the list as it was.
@usableFromInline
final class ReplacedList<PageID: Hashable & Sendable, PageValue: Sendable>: Sendable {
  @usableFromInline let task: QueryTaskIdentifier
  /// The updates of the value with the last of the yields: a later one counts, and stays.
  fileprivate let updateCount: Int
  @usableFromInline let position: PagePosition<PageID, PageValue>
  fileprivate let date: Date?
  fileprivate let isInvalidated: Bool

  /// - Parameters:
  ///   - state: The state before the first yield.
  ///   - updateCount: How often the value will have been updated with the present yield.
  fileprivate init(
    _ task: QueryTaskIdentifier, _ state: InfiniteQueryState<PageID, PageValue>, _ updateCount: Int
  ) {
    (self.task, self.updateCount, self.position) = (task, updateCount, state.position)
    (self.date, self.isInvalidated) = (state.valueLastUpdatedAt, state.isInvalidated)
  }

  /// The same list, with another yield.
  fileprivate init(_ task: QueryTaskIdentifier, _ list: ReplacedList, _ updateCount: Int) {
    (self.task, self.updateCount, self.position) = (task, updateCount, list.position)
    (self.date, self.isInvalidated) = (list.date, list.isInvalidated)
  }
}

extension InfiniteQueryState {
  @usableFromInline
  typealias ReplacedList = Query.ReplacedList<PageID, PageValue>

  /// The list that the pages so far have replaced; nil: the list is whole, or was changed since.
  @usableFromInline
  var standingReplacedList: ReplacedList? {
    self._replacedList.flatMap { $0.updateCount == self.valueUpdateCount ? $0 : nil }
  }

  public mutating func _keepReplaced(by value: QueryValue, for task: QueryTask<QueryValue>) -> Bool
  {
    guard case .allPages = value.fetchValue else { return false }
    let next = self.valueUpdateCount + 1
    if let list = self.standingReplacedList {
      // What is there is a yield itself, be it of another refetch.
      self._replacedList = ReplacedList(task.id, list, next)
    } else {
      self._replacedList = ReplacedList(task.id, self, next)
    }
    return true
  }

  public mutating func _putBackReplaced(for task: QueryTask<QueryValue>) -> Bool {
    guard let list = self.standingReplacedList, list.task == task.id else { return false }
    self._currentValue = list.position.pages
    self._nextPageId = list.position.nextPageId
    self._previousPageId = list.position.previousPageId
    self._updates.valueLastUpdatedAt = list.date
    if list.isInvalidated { self._updates.isInvalidated = true }
    return true
  }
}
