import Glibc

/// The source of the edits of stores.
protocol EditSource: AnyObject, Sendable {
  /// The newest end of a mutation that the storage knows.
  var endedSequence: Int64 { get }
  var aliases: AliasReader? { get }
  /// The version of the edits at a path.
  func version(at path: QueryPath) -> Int
  /// Whether the ends in a gap are known, and the edits are laid that follow from them.
  ///
  /// - Parameter version: That of the edits that are laid at the path; nil: none are.
  func isClosed(_ gap: EditGap, at path: QueryPath, version: Int?) -> Bool
  /// Reads the ends in a gap, and lays the edits that follow from them over a store.
  func close(_ gap: EditGap, of store: any OverlaidStore)
}

/// A change of a store that is not shown yet. It is not generic, as few things here are: looking up the
/// metadata of a generic type takes as long as making an edit.
private struct UnsettledChange {
  /// A ``StoreEvent`` of the store's state, with its base.
  let event: AnyObject
  let edits: EditsToMake
  let mark: ValueMark
}

/// What to make of the shown value.
private enum EditsToMake {
  /// It stays.
  case none
  /// All edits are made again.
  case all([LaidEdit])
  /// One edit is made after all others.
  case added(LaidEdit)
}

/// What the next event must show.
private enum NextChange {
  case none
  case all
  case added
}

/// The edits of durable mutations that the value of a store does not include yet. A store gets an overlay
/// with the first edit for it.
///
/// The store's own state is the base: it is fetched, persisted and paged, and grows stale. The store shows
/// the base with the edits applied. Edits are a user's code and do not run under the store's lock: a
/// change of the base or of the edits waits in ``pending``, with its event, until the lock is released.
/// Then the thread that made the change runs the edits and publishes the result. Until then the store shows
/// what it showed before.
// @unchecked: the variables are guarded by the store's lock.
@usableFromInline
final class StoreOverlay<State: QueryStateProtocol>: @unchecked Sendable {
  typealias Value = State.StateValue

  let index: any EditSource
  let aliases: AliasReader
  let show: (inout State, Value) -> Void
  private let apply: (PlacedEdit, inout Value, OptimisticContext) -> Void

  // Guarded by the store's lock: the runtime need not check each access once more.

  /// The edits of the store, in the order in which they are made. They include those in the history that a
  /// value with an older mark lacks.
  @exclusivity(unchecked) private(set) var edits = [LaidEdit]()
  /// The version of the index that they come from.
  @exclusivity(unchecked) private(set) var version = 0
  /// How much of the history the base includes.
  @exclusivity(unchecked) var mark: ValueMark
  /// The mark of fetches that began before there was an overlay.
  let firstMark: ValueMark
  @exclusivity(unchecked) private var shownValue: Value
  /// What the store shows while changes wait.
  @exclusivity(unchecked) private var shownState: State
  @exclusivity(unchecked) private var pending = [UnsettledChange]()
  @exclusivity(unchecked) private var nextChange = NextChange.none
  /// How often something was published.
  @exclusivity(unchecked) private(set) var publications = 0
  /// How many values were published: with each, another one may be shown.
  @exclusivity(unchecked) @usableFromInline private(set) var publishedValues = 0
  /// The threads that make edits at the moment.
  @exclusivity(unchecked) var editingThreads = [pthread_t]()

  init<S: OptimisticQueryState>(
    over base: State, _ mark: ValueMark, _ index: any EditSource, _ aliases: AliasReader,
    of _: S.Type
  ) {
    precondition(S.self == State.self)
    self.index = index
    self.aliases = aliases
    (self.mark, self.firstMark) = (mark, mark)
    self.shownValue = base.currentValue
    self.shownState = base
    // Both have the same type, but the compiler cannot tell here.
    self.show = { state, value in
      withUnsafeMutablePointer(to: &state) { state in
        state.withMemoryRebound(to: S.self, capacity: 1) {
          $0.pointee.show(unsafeBitCast(value, to: S.StateValue.self))
        }
      }
    }
    self.apply = { edit, value, context in
      let declared = unsafeDowncast(edit.declared, to: TypedDeclaredEdit<S>.self)
      withUnsafeMutablePointer(to: &value) { value in
        value.withMemoryRebound(to: S.StateValue.self, capacity: 1) {
          declared.apply(edit, &$0.pointee, context)
        }
      }
    }
  }
}

// MARK: - Changes, under the lock of the store

extension StoreOverlay {
  /// Records that the base has another value. An event follows.
  @usableFromInline
  func baseDidChange() { self.nextChange = .all }

  /// Records that the base has another value, with this mark. An event follows.
  func baseDidChange(_ mark: ValueMark) {
    self.mark = mark
    self.baseDidChange()
  }

  /// Takes the edits of an index.
  ///
  /// - Returns: Whether they are newer than those at hand. An event follows then.
  func take(_ edits: [LaidEdit], version: Int) -> Bool {
    guard version > self.version else { return false }
    self.version = version
    self.edits = edits
    self.nextChange = .all
    return true
  }

  /// Takes an edit that is made after all others.
  ///
  /// - Parameters:
  ///   - edit: The edit.
  ///   - version: The number of the change of the index.
  /// - Returns: Whether no other change of the index is missing. An event follows then.
  func append(_ edit: LaidEdit, version: Int) -> Bool {
    guard version == self.version + 1,
      self.edits.last.map({ $0.row.place < edit.row.place }) ?? true
    else {
      return false
    }
    self.version = version
    self.edits.append(edit)
    if case .none = self.nextChange, self.pending.isEmpty {
      self.nextChange = .added
    } else {
      self.nextChange = .all
    }
    return true
  }

  /// Drops acknowledged edits that the base includes. What is shown does not change.
  func forget(upTo sequence: Int64) {
    guard self.isSettled, !self.isEditing, self.mark.sequence >= sequence else { return }
    let oldest = self.edits.lazy.filter(\.isKept).map(\.row.number).min() ?? .max
    self.edits.removeAll { edit in
      edit.row.number < oldest && edit.row.sequence.map { $0 <= sequence } ?? false
    }
  }

  /// Keeps an event until the edits are made, if it shows a change or comes after one that does.
  ///
  /// - Returns: Whether it is kept.
  func keeps(_ event: StoreEvent<State>) -> Bool {
    if self.isSettled {
      self.shownState = self.shown(over: event.state)
      return false
    }
    let edits: EditsToMake
    switch self.nextChange {
    case .none: edits = .none
    case .all: edits = .all(self.edits)
    // The others are not kept with it, so that adding the next one copies none.
    case .added: edits = .added(self.edits[self.edits.count - 1])
    }
    self.pending.append(UnsettledChange(event: event, edits: edits, mark: self.mark))
    self.nextChange = .none
    return true
  }

  /// A state with the value that is shown.
  private func shown(over base: State) -> State {
    var state = base
    self.show(&state, self.shownValue)
    return state
  }

  /// The state of the store as a caller sees it.
  ///
  /// - Parameters:
  ///   - base: Its own state.
  ///   - isExclusive: Whether a caller has exclusive access to the store. That caller must see its own
  ///     changes, so the edits are made under the lock.
  func visible(over base: State, isExclusive: Bool) -> State {
    if self.isSettled { return self.shown(over: base) }
    if !isExclusive || self.isEditing { return self.shownState }
    var state = base
    self.show(&state, self.editing { self.value(over: base, self.edits, self.mark) })
    return state
  }

  var isSettled: Bool {
    if case .none = self.nextChange { self.pending.isEmpty } else { false }
  }

  /// The changes that no server has acknowledged.
  var pendingChanges: [PendingChange] {
    var changes = [PendingChange]()
    for edit in self.edits where edit.row.sequence == nil {
      // A mutation may have several edits here.
      if changes.last?.id != edit.row.id { changes.append(edit.row.pendingChange) }
    }
    // A dead one may stand before an earlier one that is live.
    return changes.sorted { $0.number < $1.number }
  }

  var hasPendingChanges: Bool { self.edits.contains { $0.row.sequence == nil } }
}

// MARK: - Making the edits, off the lock

extension StoreOverlay {
  /// Makes the edits for the waiting changes, and publishes the result. Called without the lock.
  ///
  /// If another thread publishes meanwhile, this one drops its result and begins again. The first to finish
  /// always publishes, so some thread always makes progress.
  @usableFromInline
  func settle(_ store: QueryStore<State>) {
    while true {
      // Freed without the lock, since the `deinit` of a value may read the store.
      var pending = [UnsettledChange]()
      var values = [Value]()
      var publications = 0
      store.withLock {
        // An edit has changed its own store: the outer call, which runs the edit, deals with that.
        if self.pending.isEmpty || self.isEditing { return }
        pending = self.pending
        values.append(self.shownValue)
        publications = self.publications
        self.editingThreads.append(currentThread())
      }
      if pending.isEmpty { return }
      self.appendValues(of: pending, to: &values)
      store.withLock {
        self.endEditing()
        guard self.publications == publications else { return }
        self.publications += 1
        // Mostly all.
        self.pending =
          self.pending.count == pending.count ? [] : Array(self.pending[pending.count...])
        // By number: in generic code a loop over a collection costs more than what it does.
        var index = 0
        while index < pending.count {
          let change = pending[index]
          let event = unsafeDowncast(change.event, to: StoreEvent<State>.self)
          index += 1
          swap(&values[index], &self.shownValue)
          if case .none = change.edits {} else { self.publishedValues += 1 }
          let state = self.shown(over: event.state)
          self.shownState = state
          store.log(event, showing: state)
        }
      }
      withExtendedLifetime(pending) {}
      withExtendedLifetime(values) {}
    }
  }

  /// Makes the value of each change, beginning with the one that is shown.
  private func appendValues(of pending: [UnsettledChange], to values: inout [Value]) {
    values.reserveCapacity(pending.count + 1)
    var index = 0
    while index < pending.count {
      let change = pending[index]
      switch change.edits {
      case .none: values.append(values[index])
      case .all(let edits):
        let base = unsafeDowncast(change.event, to: StoreEvent<State>.self).state
        values.append(self.value(over: base, edits, change.mark))
      case .added(let edit):
        values.append(values[index])
        self.make(edit, in: &values[index + 1], change.mark)
      }
      index += 1
    }
  }

  private func value(over base: State, _ edits: [LaidEdit], _ mark: ValueMark) -> Value {
    var value = base.currentValue
    var later = EditsOverKept(edits, mark)
    for edit in edits {
      self.make(edit, in: &value, mark)
      if later.isMade(edit, over: base.currentValue, { self.apply($0, in: &$1) }) {
        self.apply(edit, in: &value)
      }
    }
    return value
  }

  func make(_ edit: LaidEdit, in value: inout Value, _ mark: ValueMark) {
    if !mark.covers(edit.row) { self.apply(edit, in: &value) }
  }

  private func apply(_ edit: LaidEdit, in value: inout Value) {
    self.apply(edit.edit, &value, edit.row.context(self.aliases))
  }
}

// MARK: - What edits must not do

extension StoreOverlay {
  /// Whether the current thread makes an edit of this store. The caller holds the lock.
  var isEditing: Bool {
    if self.editingThreads.isEmpty { return false }
    let thread = currentThread()
    return self.editingThreads.contains { pthread_equal($0, thread) != 0 }
  }

  private func editing<T>(_ body: () -> T) -> T {
    self.editingThreads.append(currentThread())
    defer { self.endEditing() }
    return body()
  }

  func endEditing() {
    let thread = currentThread()
    if let place = self.editingThreads.lastIndex(where: { pthread_equal($0, thread) != 0 }) {
      self.editingThreads.remove(at: place)
    }
  }
}

/// Not inlined: a caller might reuse the result of `pthread_self` after an `await`, on another thread.
@inline(never)
func currentThread() -> pthread_t { pthread_self() }

extension QueryWarning {
  /// An edit of a mutation has set the value of the store that it edits. That is ignored.
  ///
  /// - Parameter path: The path of the store.
  static func valueSetInsideEdit(path: QueryPath) -> QueryWarning {
    """
    An optimistic edit has set the value of \(path), which it edits. It was ignored: an edit changes the \
    value that it is given, and nothing else.
    """
  }

  /// An edit is for queries of another state than the one at its path.
  static func optimisticEditOfOtherState(
    path: QueryPath, expected: Any.Type, found: Any.Type
  ) -> QueryWarning {
    """
    An optimistic edit for \(path) is of \(expected), and the store there is of \(found): it is not \
    shown. The target of an edit has the same modifiers as the query that is shown.
    """
  }
}
