/// A condition that is satisfied when another one is not.
public struct NotCondition<Base: FetchCondition>: FetchCondition {
  private let base: Base

  fileprivate init(base: Base) { self.base = base }

  public func isSatisfied(in context: QueryContext) -> Bool { !self.base.isSatisfied(in: context) }

  public func subscribe(
    in context: QueryContext,
    _ observer: @escaping @Sendable (Bool) -> Void
  ) -> QuerySubscription {
    self.base.subscribe(in: context) { observer(!$0) }
  }
}

/// A condition that combines two others. It emits at every emission of either.
public struct BinaryOperatorCondition<
  Left: FetchCondition,
  Right: FetchCondition,
  Operator: _BinaryOperator
>: FetchCondition {
  private let left: Left
  private let right: Right

  fileprivate init(left: Left, right: Right) {
    self.left = left
    self.right = right
  }

  public func isSatisfied(in context: QueryContext) -> Bool {
    Operator.combine(
      self.left.isSatisfied(in: context),
      self.right.isSatisfied(in: context)
    )
  }

  public func subscribe(
    in context: QueryContext,
    _ observer: @escaping @Sendable (Bool) -> Void
  ) -> QuerySubscription {
    let sides = Sides<Operator>(
      left: self.left.isSatisfied(in: context),
      right: self.right.isSatisfied(in: context),
      observer
    )
    let subscription = QuerySubscription.combined(
      sides.subscription,
      self.left.subscribe(in: context) { value in sides.emit { $0.left.emit(value) } },
      self.right.subscribe(in: context) { value in sides.emit { $0.right.emit(value) } }
    )
    // A side may have changed between the first question and its subscription.
    sides.answer(
      left: self.left.isSatisfied(in: context),
      right: self.right.isSatisfied(in: context)
    )
    return subscription
  }
}

/// The last value heard from each side of a subscription, and the observer of what they combine to.
///
/// The combined value is posted under the lock under which it was computed: two sides that change at
/// once are heard in the order in which they were combined, and the last value is the right one.
private final class Sides<Operator: _BinaryOperator>: Sendable {
  struct Side: Sendable {
    var value: Bool
    private var hasEmitted = false

    init(value: Bool) { self.value = value }

    mutating func emit(_ value: Bool) {
      self.value = value
      self.hasEmitted = true
    }

    /// An emission is newer than any answer requested before it.
    mutating func answer(_ value: Bool) {
      if !self.hasEmitted { self.value = value }
    }
  }

  typealias Values = (left: Side, right: Side)

  let subscription: QuerySubscription
  private let values: Locked<Values>
  private let recipients = RecipientList<Bool>()

  init(left: Bool, right: Bool, _ observer: @escaping @Sendable (Bool) -> Void) {
    self.values = Locked((Side(value: left), Side(value: right)))
    self.subscription = self.recipients.subscribe(observer)
  }

  func emit(_ change: (inout Values) -> Void) {
    self.values.withLock { values in
      change(&values)
      self.recipients.post([Operator.combine(values.left.value, values.right.value)])
    }
    self.recipients.deliver()
  }

  func answer(left: Bool, right: Bool) {
    self.values.withLock { values in
      values.left.answer(left)
      values.right.answer(right)
    }
  }
}

/// How a ``BinaryOperatorCondition`` combines its sides.
public protocol _BinaryOperator: SendableMetatype {
  /// Combines the two sides.
  static func combine(_ left: Bool, _ right: Bool) -> Bool
}

/// Satisfied when both sides are.
public enum _AndOperator: _BinaryOperator {
  public static func combine(_ left: Bool, _ right: Bool) -> Bool { left && right }
}

/// Satisfied when any side is.
public enum _OrOperator: _BinaryOperator {
  public static func combine(_ left: Bool, _ right: Bool) -> Bool { left || right }
}

/// A condition that is satisfied when the other one is not.
public prefix func ! <Base: FetchCondition>(base: Base) -> NotCondition<Base> {
  NotCondition(base: base)
}

/// A condition that is satisfied when both are.
public func && <Left: FetchCondition, Right: FetchCondition>(
  left: Left,
  right: Right
) -> BinaryOperatorCondition<Left, Right, _AndOperator> {
  BinaryOperatorCondition(left: left, right: right)
}

/// A condition that is satisfied when either of the two is.
public func || <Left: FetchCondition, Right: FetchCondition>(
  left: Left,
  right: Right
) -> BinaryOperatorCondition<Left, Right, _OrOperator> {
  BinaryOperatorCondition(left: left, right: right)
}
