import FoundationEssentials

/// The part of a state that is written: its value and what the state knows beside it, without its
/// tasks, which would keep the store alive.
struct PersistedSnapshot<State: PersistableQueryState>: StateSnapshot {
  private(set) var value: State.PersistedValue?
  private var notes: StateNotes

  init(_ value: State.PersistedValue?, _ notes: StateNotes) {
    self.value = value
    self.notes = notes
  }

  private var plan: PersistencePlan { self.notes.plan }
  var record: ValueRecord? { self.notes.record }
  var mark: ValueMark? { self.notes.mark }
  var valueLastUpdatedAt: Date? { self.notes.valueLastUpdatedAt }

  /// Made when it is needed: an error's text is the work of a user's code.
  func history(_ facts: WriteFacts) -> UpdateHistory {
    var history = UpdateHistory(
      valueUpdateCount: self.notes.valueUpdateCount,
      valueLastUpdatedAt: self.notes.valueLastUpdatedAt,
      error: self.notes.failures.error.map { RestoredError($0) },
      errorUpdateCount: self.notes.failures.count,
      errorLastUpdatedAt: self.notes.failures.date)
    history.lastInvalidation = facts.lastInvalidation
    return history
  }

  func entry(_ facts: WriteFacts) throws -> StoredEntry {
    self.entry(of: try self.codedContent(), facts)
  }

  private func codedContent() throws -> StoredEntry.Content {
    guard let value else { return .none }
    let content = try State._content(of: value, using: self.plan.options.coder)
    guard let record, !record.pages.isEmpty,
      case .pages(var pages, let next, let previous) = content
    else { return content }
    for (index, key) in State._pageKeys(of: value).enumerated() where index < pages.count {
      pages[index].metadata = record.pages[key]
    }
    return .pages(pages, next: next, previous: previous)
  }

  private func entry(of content: StoredEntry.Content, _ facts: WriteFacts) -> StoredEntry {
    var entry = StoredEntry(
      kind: State.persistedKind,
      coder: self.plan.options.coder.name,
      version: self.plan.options.version,
      content: content,
      history: self.history(facts),
      isPinned: self.plan.options.isPinned,
      expiresAt: self.plan.options.expiry(of: self.valueLastUpdatedAt))
    entry.mark = self.mark
    entry.invalidationsKnownUntil = facts.invalidationsKnownUntil?.instant
    entry.isFetched = facts.isFetched
    // Never without its value.
    if self.value != nil {
      entry.metadata = self.record?.metadata
      entry.freshFor = self.record?.freshFor
    }
    return entry
  }

  func entryWithoutContent(_ facts: WriteFacts) -> StoredEntry { self.entry(of: .none, facts) }

  mutating func releaseValue() { (self.value, self.notes.record) = (nil, nil) }

  var hasValue: Bool { self.value != nil && self.notes.valueUpdateCount > 0 }

  /// Whether a store with these options would read what this one writes as it is.
  func isReadable(with options: PersistenceOptions) -> Bool {
    let own = self.plan.options
    return own.version == options.version && own.coder.name == options.coder.name
  }
}

/// What is written of a state beside its value.
struct StateNotes: Sendable {
  // Not its options, which are slow to copy at each change.
  let plan: PersistencePlan
  let valueUpdateCount: Int
  let valueLastUpdatedAt: Date?
  let failures: PersistedFailures
  /// What is kept beside the value.
  var record: ValueRecord?
  /// How much of the outbox's history the value has.
  let mark: ValueMark?
}

/// What is written of a state but for its value, and what the write says of that.
public struct _WriteParts: Sendable {
  var notes: StateNotes
  var facts: WriteFacts
}

/// The write of an ordinary query's state, with the value as it is: what is written is made of it on another
/// thread, since to look up the types for that took longer than all else of a change.
final class QueryStateWrite<StateValue: Sendable, QueryValue: Codable & Sendable>: StorageWrite,
  // @unchecked: the variables are guarded by the lock of all writes.
  @unchecked Sendable
{
  private typealias Snapshot = PersistedSnapshot<QueryState<StateValue, QueryValue>>

  @exclusivity(unchecked) private var value: StateValue
  private let initialValue: StateValue
  @exclusivity(unchecked) private var notes: StateNotes

  init(of value: StateValue, initialValue: StateValue, _ parts: consuming _WriteParts) {
    self.value = value
    self.initialValue = initialValue
    self.notes = parts.notes
    super.init(parts.facts)
  }

  override var kept: (any StateSnapshot)? {
    let hasValue = self.notes.valueUpdateCount > 0
    return Snapshot(hasValue ? QueryState.fetchedValue(of: self.value) : nil, self.notes)
  }

  override func releaseKept() { (self.value, self.notes.record) = (self.initialValue, nil) }
}

/// The failures of a state but for its cancellations. A cancellation says nothing of the query: what
/// the end of a view or of a launch has cut off did not fail, so it is never written.
struct PersistedFailures: Sendable {
  /// The error of the last update that was no cancellation, if that failed.
  private(set) var error: (any Error)?
  /// How many updates failed.
  private(set) var count = 0
  /// When an update last failed.
  private(set) var date: Date?
  /// How many updates of the state had failed when it was last looked at, cancellations included.
  private var seenCount = 0

  init() {}

  init(_ history: UpdateHistory) {
    self.error = history.error
    self.count = history.errorUpdateCount
    self.date = history.errorLastUpdatedAt
    self.seenCount = history.errorUpdateCount
  }

  /// Takes what a change of a state has added. The state stays as it is: it is not copied.
  ///
  /// - Returns: Whether that was a cancellation.
  mutating func take(_ state: inout some QueryStateProtocol) -> Bool {
    let added = state.errorUpdateCount - self.seenCount
    // As at most changes: a state's error is slow to look at.
    if added == 0, self.error == nil { return false }
    self.seenCount = state.errorUpdateCount
    if state.error is CancellationError { return added > 0 }
    self.error = state.error
    if added != 0 {
      self.count = max(self.count + added, 0)
      self.date = state.errorLastUpdatedAt
    }
    return false
  }

  /// Puts these before others, which came while they were read.
  ///
  /// - Parameters:
  ///   - later: The others.
  ///   - state: The state that shows both. Not changed; what is read of it would be read of a copy.
  mutating func append(_ later: PersistedFailures, in state: inout some QueryStateProtocol) {
    self.error = later.error ?? self.error
    self.count += later.count
    self.date = later.date ?? self.date
    self.seenCount = state.errorUpdateCount
  }
}

extension PersistenceOptions {
  /// When a value of a date is too old.
  func expiry(of date: Date?) -> Date? {
    guard let maxAge = self.maxAge, let date else { return nil }
    return date.addingTimeInterval(maxAge / .seconds(1))
  }
}
