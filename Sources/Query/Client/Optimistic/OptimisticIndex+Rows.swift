import FoundationEssentials

/// The paths whose rows have changed: mostly one, which needs no memory of its own.
struct ChangedPaths: Sendable {
  private var first: QueryPath?
  private var others = Set<QueryPath>()

  var isEmpty: Bool { self.first == nil }
  var isOne: Bool { self.first != nil && self.others.isEmpty }

  /// - Returns: Whether it was not among them.
  @discardableResult
  mutating func insert(_ path: QueryPath) -> Bool {
    guard let first else {
      self.first = path
      return true
    }
    return first != path && self.others.insert(path).inserted
  }

  func visit(_ body: (QueryPath) -> Void) {
    if let first { body(first) }
    for path in self.others { body(path) }
  }
}

/// The stores that a change of rows affects.
struct RowChange: Sendable {
  /// The newest end that was known before the change.
  let since: Int64
  var paths = ChangedPaths()
  var isUnderPaths = false
  /// Whether a mutation with edits has succeeded.
  var hasSuccess = false
  /// Whether the set of waiting mutations with unknown edits has changed.
  var hasOtherUnknown = false
  /// The edit that was added, with the version of its path, if that is all that has changed; else nil.
  var added: LaidEdit?
  var version = 0

  init(since: Int64) { self.since = since }

  /// Adds stores that may not show yet what is known of them.
  mutating func add(_ edits: some Collection<PlacedEdit>) {
    self.added = nil
    for edit in edits {
      if edit.isPrefix { self.isUnderPaths = true } else { self.paths.insert(edit.path) }
    }
  }
}

// MARK: - Rows, under the lock

extension OptimisticIndex.Guarded {
  /// The edits of the stores at a path, in the order in which they are made.
  func edits(at path: QueryPath) -> [LaidEdit] {
    var edits = [LaidEdit]()
    let own = self.byPath[path]?.ids ?? []
    for id in own { self.addEdits(of: id, at: path, to: &edits) }
    for id in self.underPaths where !own.contains(id) {
      self.addEdits(of: id, at: path, to: &edits)
    }
    return LaidEdit.inOrder(edits)
  }

  private func addEdits(of id: UUID, at path: QueryPath, to edits: inout [LaidEdit]) {
    guard let row = self.rows[id] else { return }
    for edit in row.edits where edit.isPrefix ? edit.path.isPrefix(of: path) : edit.path == path {
      if row.row.isDead, edit.whenDead == .dropped { continue }
      edits.append(LaidEdit(row: row.row, edit: edit))
    }
  }

  /// Whether a live mutation changes a query, and this process does not know how.
  ///
  /// - Parameters:
  ///   - path: The path of the query.
  ///   - identity: What it is stored as. A name on disk outlives the types that its path names.
  func hasUnknownChange(at path: QueryPath, storedAs identity: QueryIdentity?) -> Bool {
    if self.unknown.isEmpty { return false }
    let identities = Set([identity, try? QueryIdentity(path: path)].compactMap { $0 })
    return Set(self.unknown.values).contains { paths in identities.contains(where: paths.covers) }
  }

  /// The living stores that a change of rows may affect.
  func livingStores(of change: RowChange) -> [any OverlaidStore] {
    var stores = [any OverlaidStore]()
    func add(_ list: [OptimisticIndex.WeakStore]) {
      for entry in list { if let store = entry.store { stores.append(store) } }
    }
    if change.isUnderPaths {
      for list in self.stores.values { add(list) }
    } else if let last, change.paths.isOne, change.added?.edit.target === last.target {
      add(last.stores)
    } else {
      change.paths.visit { if let list = self.stores[$0] { add(list) } }
    }
    return stores
  }

  func version(at path: QueryPath) -> Int {
    (self.byPath[path]?.version ?? 0) + self.versionUnderPaths
  }

  mutating func insert(
    _ row: OptimisticRow, _ edits: some Collection<PlacedEdit>, _ change: inout RowChange,
    at stamp: Int
  ) {
    self.rows[row.id] = .init(row: row, edits: PlacedEdits(edits), stamp: stamp)
    // What was entered later is made over it, whichever values have that: see ``EditsOverKept``.
    if row.isDead, edits.contains(where: { $0.whenDead == .kept }) { self.neededAfter = 0 }
    let isAlone = change.paths.isEmpty && !change.isUnderPaths
    var version = 0
    for edit in edits { version = self.touch(edit, &change, adding: row.id) }
    if isAlone, edits.count == 1, let edit = edits.first, !edit.isPrefix {
      change.added = LaidEdit(row: row, edit: edit)
      change.version = version
    }
  }

  mutating func remove(_ id: UUID, _ change: inout RowChange, at stamp: Int) {
    guard let row = self.takeOut(id) else { return }
    self.removed[id] = .init(edits: row.edits, stamp: stamp)
    change.added = nil
    for edit in row.edits { self.touch(edit, &change) }
  }

  /// Removes a row that a call of this process has ended without success.
  ///
  /// A reading on another thread may have taken the end before, and be slower to show it than the call is to
  /// return; another may be about to bring in the row as it stood before.
  ///
  /// - Returns: Its edits.
  @discardableResult
  mutating func end(_ id: UUID, _ change: inout RowChange, at stamp: Int) -> PlacedEdits {
    self.remove(id, &change, at: stamp)
    let edits = self.removed[id]?.edits ?? PlacedEdits([])
    change.add(edits)
    if !edits.isEmpty || self.mayBringIn { self.removed[id] = .init(edits: edits, stamp: stamp) }
    return edits
  }

  /// Whether a call or a reading may bring in a row that is not known yet.
  var mayBringIn: Bool { self.enqueueings > 0 || self.readings > self.takenReading }

  /// Removes a row from every look-up. What stores show does not change.
  @discardableResult
  mutating func takeOut(_ id: UUID) -> OptimisticIndex.IndexedRow? {
    guard let row = self.rows.removeValue(forKey: id) else { return nil }
    for edit in row.edits where !edit.isPrefix {
      self.byPath[edit.path]?.ids.remove(id)
    }
    self.underPaths.remove(id)
    return row
  }

  mutating func remove(_ id: UUID) {
    var change = RowChange(since: self.seen)
    self.remove(id, &change, at: self.nextStamp())
  }

  /// The stamp of a change that was made here and not read from the outbox: a reading that began before it
  /// does not undo it. Rows that a reading finds get the stamp of its beginning, so that a later reading
  /// may change them.
  mutating func nextStamp() -> Int {
    self.stamp += 1
    return self.stamp
  }

  /// Counts a change of the rows at a path.
  ///
  /// - Parameter id: A row that is added there.
  /// - Returns: The version of the edits at the path.
  @discardableResult
  private mutating func touch(
    _ edit: PlacedEdit, _ change: inout RowChange, adding id: UUID? = nil
  ) -> Int {
    if edit.isPrefix {
      if let id { self.underPaths.insert(id) }
      if !change.isUnderPaths { self.versionUnderPaths += 1 }
      change.isUnderPaths = true
      return self.versionUnderPaths
    }
    let isFirst = change.paths.insert(edit.path)
    if !isFirst && id == nil { return self.version(at: edit.path) }
    return self.rows(at: edit.target).touch(isFirst, adding: id) + self.versionUnderPaths
  }

  private mutating func rows(at target: EditTarget) -> OptimisticIndex.PathRows {
    if let last, last.target === target { return last.rows }
    let rows = self.byPath[target.path] ?? OptimisticIndex.PathRows()
    self.byPath[target.path] = rows
    self.last = .init(target: target, rows: rows, stores: self.stores[target.path] ?? [])
    return rows
  }

  /// Whether all successes that stores need are in memory.
  var isWhole: Bool { self.neededAfter >= self.loadedAfter }

  /// The next reading covers the successes after this one. The very first reading covers none: a success
  /// is read once a value turns out to lack it.
  var firstToRead: Int64 {
    if !self.isWhole { return self.neededAfter }
    return self.loadedAfter == .max ? .max : self.seen
  }

  mutating func didLoad(endedAfter sequence: Int64) {
    self.loadedAfter = min(self.loadedAfter, sequence)
    self.neededAfter = min(self.neededAfter, self.seen)
  }

  /// Applies a reading of the outbox. Changes that were made here since it began are newer, and stay.
  mutating func take(
    _ log: MutationLog, _ placed: [UUID: [PlacedEdit]], readAt stamp: Int,
    _ unreadable: Set<UUID> = []
  ) -> RowChange {
    var change = RowChange(since: self.seen)
    for other in log.others { self.noteForeign(other.sequence, .init(other)) }
    var found = Set<UUID>(minimumCapacity: log.records.count)
    var unknown = Dictionary(log.unknown.map { ($0.id, $0.editedPaths) }) { first, _ in first }
    // What another reading has removed and not shown yet stays: see ``end(_:_:at:)``.
    if self.layings <= 1 { self.removed = self.removed.filter { $0.value.stamp > stamp } }
    for record in log.records {
      found.insert(record.id)
      let known = self.rows[record.id]
      // An end is final, however old the reading is, and no later reading reports it again.
      if let known, known.stamp > stamp, record.sequence == nil { continue }
      if let removed = self.removed[record.id], removed.stamp > stamp { continue }
      let key = MutationHandler.Key(name: record.entry.name, instance: record.entry.instance)
      let mutation = self.declarations[key]?.mutation
      guard let row = OptimisticRow(record, of: mutation ?? EditingMutation(key)) else {
        self.remove(record.id, &change, at: self.nextStamp())
        continue
      }
      if let known, known.row.isSame(as: row) {
        // A call has shown it; values are folded now, since all that has ended before it is known.
        if let sequence = row.sequence, sequence > self.seen {
          for edit in known.edits { self.touch(edit, &change) }
          change.hasSuccess = true
        }
        continue
      }
      if unreadable.contains(record.id) {
        if let sequence = row.sequence {
          self.noteForeign(sequence, nil)
        } else if known == nil, record.entry.state != .dead {
          // It waits for a release that can read it, and changes its queries all the same.
          unknown[record.id] = record.entry.editedPaths
        }
      }
      guard let edits = placed[record.id].map({ PlacedEdits($0) }) ?? known?.edits,
        mutation != nil
      else { continue }
      if known != nil { self.remove(record.id, &change, at: stamp) }
      self.removed[record.id] = nil
      self.insert(row, edits, &change, at: max(stamp, known?.stamp ?? 0))
      if row.sequence != nil { change.hasSuccess = true }
    }
    // A live row that is no longer found has ended without success, or so long ago that no record is left:
    // for good, so that a reading that has begun already does not bring it back.
    for (id, row) in self.rows
    where row.row.sequence == nil && row.stamp <= stamp && !found.contains(id) {
      self.remove(id, &change, at: self.nextStamp())
    }
    change.hasOtherUnknown = unknown != self.unknown
    self.unknown = unknown
    self.seen = max(self.seen, log.sequence)
    change.added = nil
    return change
  }
}
