public import FoundationEssentials

/// A state that can be written to a storage and restored from it.
///
/// ``QueryState`` is one if its value is `Codable`, and ``InfiniteQueryState`` if page ids and
/// pages are. A custom paradigm conforms its state, and ``QueryRequest/persisted(_:)`` takes its
/// requests:
/// ```swift
/// extension CounterState: PersistableQueryState {
///   var persistedValue: Int? { self.count }
///
///   mutating func restore(_ value: Int?, history: UpdateHistory) {
///     self.count = value ?? self.initialValue
///     self.valueUpdateCount = history.valueUpdateCount
///     self.valueLastUpdatedAt = history.valueLastUpdatedAt
///     …
///   }
/// }
/// ```
public protocol PersistableQueryState: QueryStateProtocol {
  /// The snapshot that is written, which a coder codes on another thread.
  associatedtype PersistedValue: Codable & Sendable

  /// Tells this kind of state from others in a storage: an entry of another kind is not restored.
  /// `own` by default.
  static var persistedKind: String { get }

  /// The part of the current value to write; nil if there is none. Read under the store's lock at
  /// each change, so it must be cheap to make.
  var persistedValue: PersistedValue? { get }

  /// Takes the value that an earlier launch wrote. Called when a store is created, or later if the
  /// value was too large or another process has written a newer one. Running tasks stay.
  ///
  /// - Parameters:
  ///   - value: The value; nil if there was none.
  ///   - history: Counts, dates, the last error, and whether the value was invalidated, all of which
  ///     the state shows from now on.
  mutating func restore(_ value: PersistedValue?, history: UpdateHistory)

  /// Makes what is written of the state, at each change: of ``persistedValue``, unless the state has a way
  /// that takes less time.
  func _write(_ parts: consuming _WriteParts) -> StorageWrite

  /// Codes a value, in a form in which a storage can tell what changed.
  static func _content(
    of value: PersistedValue,
    using coder: any QueryCoder
  ) throws -> StoredEntry.Content

  /// The keys of the pieces of ``_content(of:using:)``, if it has pages.
  static func _pageKeys(of value: PersistedValue) -> [_PageKey]

  /// Decodes what ``_content(of:using:)`` has coded.
  static func _value(
    from content: StoredEntry.Content,
    using coder: any QueryCoder,
    upgrade: ((Data) throws -> Data)?
  ) throws -> PersistedValue?
}

extension PersistableQueryState {
  public static var persistedKind: String { "own" }

  public func _write(_ parts: consuming _WriteParts) -> StorageWrite {
    StorageWrite.of(PersistedSnapshot<Self>(self.persistedValue, parts.notes), parts.facts)
  }

  /// One piece.
  public static func _content(
    of value: PersistedValue,
    using coder: any QueryCoder
  ) throws -> StoredEntry.Content {
    .value(try coder.encode(value))
  }

  public static func _pageKeys(of value: PersistedValue) -> [_PageKey] { [] }

  public static func _value(
    from content: StoredEntry.Content,
    using coder: any QueryCoder,
    upgrade: ((Data) throws -> Data)?
  ) throws -> PersistedValue? {
    switch content {
    case .none: nil
    case .value(let data):
      try coder.decode(PersistedValue.self, from: try upgrade?(data) ?? data)
    case .pages: throw UnexpectedContent()
    }
  }
}

/// Thrown if an entry has pages and its state has no pages, or the other way round.
struct UnexpectedContent: Error, CustomStringConvertible {
  var description: String { "it was written by another kind of query" }
}

// MARK: - Queries

extension QueryState: PersistableQueryState where QueryValue: Codable {
  public static var persistedKind: String { "query" }

  /// The value, if it is more than what the state started with.
  public var persistedValue: QueryValue? { self._fetchedValue }

  public func _write(_ parts: consuming _WriteParts) -> StorageWrite {
    QueryStateWrite<StateValue, QueryValue>(
      of: self._currentValue, initialValue: self.initialValue, parts)
  }

  public mutating func restore(_ value: QueryValue?, history: UpdateHistory) {
    self._updates = UpdateRecord(history)
    if let value {
      self._currentValue = self._stateValue(value)
    } else if history.valueUpdateCount > 0, StateValue.self == QueryValue?.self {
      // nil is a value of its own if it was set by hand.
      self._currentValue = unsafeBitCast(QueryValue?.none, to: StateValue.self)
    } else {
      self._currentValue = self.initialValue
    }
  }
}

extension UpdateRecord {
  init(_ history: UpdateHistory) {
    self.init()
    self.valueUpdateCount = history.valueUpdateCount
    self.valueLastUpdatedAt = history.valueLastUpdatedAt
    self.error = history.error
    self.errorUpdateCount = history.errorUpdateCount
    self.errorLastUpdatedAt = history.errorLastUpdatedAt
    self.isInvalidated = history.isInvalidated
  }
}
