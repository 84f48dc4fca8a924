import Synchronization

/// Something that runs until it is cancelled.
///
/// It is also cancelled when its last copy is released, so keep it as long as you need it:
/// ```swift
/// store.subscribe(with: handler).store(in: &self.subscriptions)
/// ```
public struct QuerySubscription: Sendable {
  private enum Content: Hashable {
    case empty
    case one(Cancellation)
    case combined([QuerySubscription])
  }

  private let content: Content

  /// Creates a subscription.
  ///
  /// - Parameter onCancel: Ends it. It is called at most once, and no lock is held meanwhile.
  public init(onCancel: @escaping @Sendable () -> Void) {
    self.content = .one(ClosureCancellation(onCancel))
  }

  init(_ cancellation: Cancellation) { self.content = .one(cancellation) }

  private init(content: Content) { self.content = content }

  /// A subscription to nothing.
  public static let empty = QuerySubscription(content: .empty)

  /// One subscription for several.
  ///
  /// - Parameter subscriptions: The subscriptions that are cancelled with it.
  public static func combined(
    _ subscriptions: some Collection<QuerySubscription>
  ) -> QuerySubscription {
    QuerySubscription(content: .combined(Array(subscriptions)))
  }

  /// One subscription for several.
  ///
  /// - Parameter subscriptions: The subscriptions that are cancelled with it.
  public static func combined(_ subscriptions: QuerySubscription...) -> QuerySubscription {
    Self.combined(subscriptions)
  }

  /// One subscription for this one and others. Most stores have one controller: then there is nothing to combine.
  func joined(with others: [QuerySubscription]) -> QuerySubscription {
    if self.content != .empty { return .combined([self] + others) }
    return others.count == 1 ? others[0] : .combined(others)
  }

  /// Ends it. Later calls do nothing.
  public func cancel() {
    switch self.content {
    case .empty: break
    case .one(let cancellation): cancellation.cancel()
    case .combined(let subscriptions): for subscription in subscriptions { subscription.cancel() }
    }
  }

  /// Keeps this subscription in a set.
  ///
  /// - Parameter set: The set.
  public func store(in set: inout Set<QuerySubscription>) {
    set.insert(self)
  }

  /// Keeps this subscription in a collection.
  ///
  /// - Parameter collection: The collection.
  public func store(in collection: inout some RangeReplaceableCollection<QuerySubscription>) {
    collection.append(self)
  }
}

// MARK: - Hashable

extension QuerySubscription: Hashable {
  /// Empty subscriptions are equal. Combined ones are equal if their elements are, in order; any others if
  /// they are copies of one another.
  public static func == (lhs: QuerySubscription, rhs: QuerySubscription) -> Bool {
    lhs.content == rhs.content
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(self.content) }
}

/// What ends a subscription. Each store has several, so there is no lock: that would be another object.
///
/// A subclass has a `deinit` that calls ``cancel()``: here its own variables may be gone.
// @unchecked: not final; the only variable is an atomic one.
class Cancellation: @unchecked Sendable, Hashable {
  private let isCancelled = Atomic(false)

  final func cancel() {
    if self.isCancelled.exchange(true, ordering: .acquiringAndReleasing) { return }
    self.end()
  }

  /// Ends the subscription; called once at most.
  func end() {}

  static func == (lhs: Cancellation, rhs: Cancellation) -> Bool { lhs === rhs }

  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

// @unchecked: `onCancel` belongs to the one that calls `end()`.
private final class ClosureCancellation: Cancellation, @unchecked Sendable {
  @exclusivity(unchecked) private var onCancel: (@Sendable () -> Void)?

  init(_ onCancel: @escaping @Sendable () -> Void) { self.onCancel = onCancel }

  deinit { self.cancel() }

  override func end() {
    // Taken out before it is called, so that what it holds is freed with the call.
    let onCancel = self.onCancel.take()
    onCancel?()
  }
}
