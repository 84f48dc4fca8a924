public import Observation

/// The properties of a store that Observation tells apart: a view that reads the value is not told that
/// a fetch has begun.
@usableFromInline
struct ObservedParts: OptionSet, Sendable {
  @usableFromInline let rawValue: UInt8

  @inlinable
  init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Everything else: it changes with each event.
  @usableFromInline static let rest = Self(rawValue: 1)
  @usableFromInline static let value = Self(rawValue: 2)
  @usableFromInline static let isLoading = Self(rawValue: 4)
  @usableFromInline static let error = Self(rawValue: 8)
  @usableFromInline static let origin = Self(rawValue: 16)
  @usableFromInline static let pendingChanges = Self(rawValue: 32)
}

/// What tells whether a part has changed, without a comparison of values.
struct ObservedFacts {
  /// Grows with each other value, of the state or with the edits over it.
  var valueNumber: Int
  var isLoading: Bool
  /// Grows with each error; nil: there is none.
  var errorCount: Int?
  var origin: ValueOrigin
  /// Grows with each change of the edits.
  var editsNumber: Int

  func changes(since old: Self) -> ObservedParts {
    var parts = ObservedParts.rest
    if self.valueNumber != old.valueNumber { parts.insert(.value) }
    if self.isLoading != old.isLoading { parts.insert(.isLoading) }
    // With another value that was stored may come another error, and any count of them.
    if self.errorCount != old.errorCount || self.errorCount != nil && parts.contains(.value) {
      parts.insert(.error)
    }
    if self.origin != old.origin { parts.insert(.origin) }
    if self.editsNumber != old.editsNumber { parts.insert(.pendingChanges) }
    return parts
  }

  /// Takes what others say of parts.
  mutating func take(_ others: Self, of parts: ObservedParts) {
    if parts.contains(.isLoading) { self.isLoading = others.isLoading }
    if parts.contains(.error) { self.errorCount = others.errorCount }
    if parts.contains(.origin) { self.origin = others.origin }
    if parts.contains(.pendingChanges) { self.editsNumber = others.editsNumber }
  }
}

/// What Observation knows of a store.
///
/// A class of its own, because a key path into the generic store costs 0.9 µs each time that it is
/// written down.
// @unchecked: the variables are guarded by the lock of the store.
@usableFromInline
final class ObservationAnchor: Observable, @unchecked Sendable {
  private let registrar = ObservationRegistrar()
  /// What was ever read. What was not is not announced, which costs two locks each.
  @exclusivity(unchecked) private var readParts: ObservedParts = []
  /// What is known of the value, and of each part that was ever read.
  @exclusivity(unchecked) private var facts: ObservedFacts

  init(_ facts: ObservedFacts) { self.facts = facts }

  /// Notes what is read. The caller holds the lock of the store.
  ///
  /// - Parameters:
  ///   - parts: What is read.
  ///   - facts: What is the case, if something is read for the first time.
  func note(_ parts: ObservedParts, _ facts: @autoclosure () -> ObservedFacts) {
    let new = parts.subtracting(self.readParts)
    if new.isEmpty { return }
    self.facts.take(facts(), of: new)
    self.readParts.formUnion(new)
  }

  /// Notes the value's number after a change, which says all that is to be known if nothing else was ever
  /// read, as of most stores. The caller holds the lock of the store.
  ///
  /// - Returns: The parts that have changed, of those that were ever read; nil if it does not say all.
  @usableFromInline
  func note(valueNumber: Int) -> ObservedParts? {
    guard self.readParts.isSubset(of: [.rest, .value]) else { return nil }
    defer { self.facts.valueNumber = valueNumber }
    let isSame = self.facts.valueNumber == valueNumber
    return self.readParts.intersection(isSame ? .rest : [.rest, .value])
  }

  /// Notes a change of a state of which value and error count as changed each time. The caller holds the lock
  /// of the store.
  ///
  /// - Returns: The parts that have changed, of those that were ever read; nil if that does not say all.
  @usableFromInline
  func noteChange() -> ObservedParts? {
    self.readParts.isSubset(of: [.rest, .value, .error]) ? self.readParts : nil
  }

  /// Notes what is the case after a change. The caller holds the lock of the store.
  ///
  /// - Parameters:
  ///   - facts: What is the case.
  ///   - others: What counts as changed, whatever the facts are.
  /// - Returns: The parts that have changed, of those that were ever read.
  func note(_ facts: ObservedFacts, and others: ObservedParts) -> ObservedParts {
    defer { self.facts = facts }
    return facts.changes(since: self.facts).union(others).intersection(self.readParts)
  }

  // Each stands for a part.
  private var rest: Void { () }
  private var value: Void { () }
  private var isLoading: Void { () }
  private var error: Void { () }
  private var origin: Void { () }
  private var pendingChanges: Void { () }

  @usableFromInline
  func trackAccess(to parts: ObservedParts) {
    self.forEach(of: parts) { self.registrar.access(self, keyPath: $0) }
  }

  @usableFromInline
  func announceChange(of parts: ObservedParts) {
    self.forEach(of: parts) { self.registrar.withMutation(of: self, keyPath: $0) {} }
  }

  private func forEach(
    of parts: ObservedParts, _ body: (KeyPath<ObservationAnchor, Void>) -> Void
  ) {
    if parts.contains(.rest) { body(\.rest) }
    if parts.contains(.value) { body(\.value) }
    if parts.contains(.isLoading) { body(\.isLoading) }
    if parts.contains(.error) { body(\.error) }
    if parts.contains(.origin) { body(\.origin) }
    if parts.contains(.pendingChanges) { body(\.pendingChanges) }
  }
}

extension QueryStore: Observable {
  /// Reads parts of the store under its lock, and lets Observation know of it.
  @inlinable
  func observed<T>(_ parts: ObservedParts, _ body: () -> T) -> T {
    self.enter()
    let anchor = self.observe(parts)
    let result = body()
    self.leave()
    anchor.trackAccess(to: parts)
    return result
  }

  /// Begins to announce changes of parts. The caller holds the lock.
  @usableFromInline
  func observe(_ parts: ObservedParts) -> ObservationAnchor {
    let anchor: ObservationAnchor
    if let observation {
      anchor = observation
    } else {
      anchor = ObservationAnchor(self.facts(of: self.visibleState))
      self.observation = anchor
    }
    anchor.note(parts, self.facts(of: self.visibleState))
    return anchor
  }

  /// Notes a change that is visible from now on, for Observation. The caller holds the lock.
  @inlinable
  func noteObservedChange(to state: @autoclosure () -> State) {
    if let observation { self.note(observation, state) }
  }

  // Not inlined: a change of a store that nobody observes is not to carry it along.
  @inlinable
  @inline(never)
  func note(_ observation: ObservationAnchor, _ state: () -> State) {
    let changes =
      State._isObservedByParts
      ? observation.note(valueNumber: self.observedValueNumber) : observation.noteChange()
    self.aftermath.changes.formUnion(changes ?? self.observedChanges(to: state(), observation))
  }

  @usableFromInline
  func observedChanges(to state: State, _ observation: ObservationAnchor) -> ObservedParts {
    let others: ObservedParts = State._isObservedByParts ? [] : [.value, .error]
    return observation.note(self.facts(of: state), and: others)
  }

  @inlinable
  var observedValueNumber: Int {
    self.tag.number &+ (self.overlay?.publishedValues ?? 0)
  }

  private func facts(of state: State) -> ObservedFacts {
    ObservedFacts(
      valueNumber: self.observedValueNumber,
      isLoading: state.isLoading,
      errorCount: state.error == nil ? nil : state.errorUpdateCount,
      origin: self.valueOrigin, editsNumber: self.overlay?.version ?? 0)
  }
}
