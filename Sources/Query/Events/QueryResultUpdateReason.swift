/// Why a result was reported.
public struct QueryResultUpdateReason: Hashable, Sendable, CustomStringConvertible {
  /// The name of the case.
  public let description: String

  private init(_ description: String) { self.description = description }

  /// The request yielded the result, and goes on.
  public static let yieldedResult = QueryResultUpdateReason("yieldedResult")

  /// The request returned or threw the result.
  public static let returnedFinalResult = QueryResultUpdateReason("returnedFinalResult")

  /// What is shown changed, and not the value beneath: an edit of a durable mutation came, changed or went.
  public static let optimistic = QueryResultUpdateReason("optimistic")
}

extension QueryContext {
  /// Why the result of this event was reported; `nil` if the event has no reason.
  public var queryResultUpdateReason: QueryResultUpdateReason? {
    get { self[QueryResultUpdateReasonKey.self] }
    set { self[QueryResultUpdateReasonKey.self] = newValue }
  }

  private enum QueryResultUpdateReasonKey: Key {
    static var defaultValue: QueryResultUpdateReason? { nil }
  }

  /// This context with a reason.
  @usableFromInline
  func with(_ reason: QueryResultUpdateReason) -> QueryContext {
    var context = self
    context.queryResultUpdateReason = reason
    return context
  }
}
