public import FoundationEssentials

/// The value that a store has while it fetches another one, with the metadata that belongs to it: what a
/// request needs to ask its server whether anything has changed.
///
/// ```swift
/// func fetch(
///   in context: QueryContext, with continuation: QueryContinuation<[Note]>
/// ) async throws -> [Note] {
///   let answer = try await api.notes(ifNoneMatch: context.storedValue?.metadata)
///   guard let notes = answer.notes else { return try continuation.unchanged() }
///   return continuation.returning(notes, metadata: answer.validator)
/// }
/// ```
public struct StoredValue: Sendable {
  /// What the fetch that brought the value has given to
  /// ``QueryContinuation/returning(_:metadata:freshFor:isStored:)``; nil: nothing, or the value is another one
  /// since then, set by hand for example.
  public let metadata: Data?

  /// When the value was last updated or confirmed, by the clock of the context.
  public let updatedAt: Date

  private let base: any Sendable
  /// Which value of its store it is; nil for that of a page.
  let number: Int?

  init(metadata: Data?, updatedAt: Date, base: any Sendable, number: Int? = nil) {
    self.number = number
    self.metadata = metadata
    self.updatedAt = updatedAt
    self.base = base
  }

  /// The value; inside a fetch of a page, the page's.
  ///
  /// - Parameter type: Its type.
  /// - Returns: nil if it is of another type.
  public func value<V>(as type: V.Type) -> V? { self.base as? V }
}

/// A request said that the value at hand is right, and there is none.
public enum QueryUnchangedError: Error, Hashable, Sendable, CustomStringConvertible {
  /// There is nothing to keep: ask again for all of it.
  case noValue

  public var description: String {
    """
    A request said that the value at hand is right, and there is none. Ask the server for all of it where \
    context.storedValue is nil.
    """
  }
}

extension QueryContext {
  /// Inside a fetch: the value that the store has, with its metadata. nil if it has none, and outside of
  /// a fetch.
  ///
  /// It is read anew at each access. What ``QueryContinuation/unchanged(freshFor:metadata:)`` keeps is the
  /// value that was read last, also if the store was given another one meanwhile: the server has confirmed
  /// that one.
  public var storedValue: StoredValue? { self.fetchWork?.readStoredValue(in: self) }
}
