import FoundationEssentials

/// Successes whose edits this process does not know: those of other releases or plug-ins. No value is
/// folded past one of them, or a program that knows the edit would lose it.
struct Foreign: Sendable {
  /// Keyed by their place in the order of ends; nil: this process cannot read the arguments.
  private var mutations = [Int64: MutationHandler.Key?]()
  /// The last end of those that were dropped from memory: no value with an older mark is folded.
  private var forgotten: Int64 = 0

  /// How many are kept in memory.
  static let limit = 4_096

  mutating func insert(_ sequence: Int64, _ key: MutationHandler.Key?) {
    if sequence <= self.forgotten { return }
    self.mutations.updateValue(key, forKey: sequence)
    guard self.mutations.count > Self.limit else { return }
    let old = self.mutations.keys.sorted().prefix(Self.limit / 2)
    for sequence in old { self.mutations[sequence] = nil }
    self.forgotten = old.last ?? self.forgotten
  }

  /// Forgets the successes of a mutation that has just been declared, since its edits are known now.
  mutating func remove(_ key: MutationHandler.Key) {
    self.mutations = self.mutations.filter { $0.value != key }
  }

  /// The first after a mark; `.max` if there is none.
  func first(after mark: Int64) -> Int64 {
    if mark < self.forgotten { return mark }
    return self.mutations.keys.lazy.filter { $0 > mark }.min() ?? .max
  }
}

extension MutationHandler.Key {
  init(_ other: MutationLog.Other) { self.init(name: other.name, instance: other.instance) }
}

extension OptimisticIndex.Guarded {
  mutating func noteForeign(_ sequence: Int64, _ key: MutationHandler.Key?) {
    if let key, self.declarations[key] != nil || self.plain.contains(key) { return }
    self.foreign.insert(sequence, key)
  }

  /// The last end that a value with this mark can be folded up to; nil: it cannot be folded.
  func foldingLimit(after mark: Int64) -> Int64? {
    guard self.isWhole, self.loadedAfter <= mark else { return nil }
    let first = self.foreign.first(after: mark)
    let limit = min(self.seen, first == .max ? .max : first - 1)
    return limit > mark ? limit : nil
  }
}

extension OptimisticIndex {
  /// Folds the acknowledged edits of a store into its value, as far as this process knows all of them. What
  /// the store shows stays the same.
  func fold(_ store: any OverlaidStore) {
    guard let mark = store.optimisticMark?.sequence else { return }
    let path = store.path
    // The index may have forgotten the rows that this store needs, since every other value has them.
    if self.guarded.withLock({ $0.loadedAfter > mark && $0.loadedAfter != .max }) {
      self.load(endedAfter: mark)
    }
    let (limit, version) = self.guarded.withLock {
      ($0.foldingLimit(after: mark), $0.version(at: path))
    }
    if let limit { store.fold(upTo: limit, after: mark, version: version) }
  }
}

// MARK: - Forgetting

extension OptimisticIndex {
  /// Up to this many acknowledged rows are kept without checking which store needs them.
  static let fewAcknowledged = 64

  /// Forgets acknowledged edits once every value that shows them includes them, and so does every value
  /// that is being fetched. It visits all rows and stores, so it does that only from time to time.
  func forgetAcknowledged() {
    let ended = self.guarded.withLock { index -> (EndedRows, arrivals: Int)? in
      // With few rows, no row is visited.
      if index.rows.count <= index.acknowledgedBeforePurge { return nil }
      let rows = index.rows.values.filter { $0.row.sequence != nil }
      if rows.count <= index.acknowledgedBeforePurge { return nil }
      return (EndedRows(rows, upTo: index.seen), index.arrivals)
    }
    guard let (rows, arrivals) = ended else { return }
    let stores = self.livingStores.filter { rows.touch($0.path) }
    var limit = rows.newest
    for store in stores {
      guard let mark = store.lowestMark else { return }
      limit = min(limit, mark)
    }
    let isDone = self.guarded.withLock { index in
      // A store that was created meanwhile may need older rows.
      guard index.arrivals == arrivals else { return false }
      index.forget(upTo: limit)
      return true
    }
    if isDone { for store in stores { store.forgetEdits(upTo: limit) } }
  }

  /// Acknowledged rows, and the queries that they edit.
  private struct EndedRows {
    private var paths = Set<QueryPath>()
    private var prefixes = Set<QueryPath>()
    let newest: Int64

    init(_ rows: [IndexedRow], upTo newest: Int64) {
      self.newest = newest
      for edit in rows.lazy.flatMap(\.edits) {
        if edit.isPrefix { self.prefixes.insert(edit.path) } else { self.paths.insert(edit.path) }
      }
    }

    func touch(_ path: QueryPath) -> Bool {
      self.paths.contains(path) || self.prefixes.contains { $0.isPrefix(of: path) }
    }
  }
}

extension OptimisticIndex.Guarded {
  /// Forgets acknowledged rows. The index reads them again if a store with an older value needs them.
  fileprivate mutating func forget(upTo limit: Int64) {
    var left = 0
    let overKept = self.rowsOverKept()
    for (id, row) in self.rows {
      guard let sequence = row.row.sequence else { continue }
      guard sequence <= limit, !overKept.contains(id) else {
        left += 1
        continue
      }
      self.takeOut(id)
    }
    self.acknowledgedBeforePurge = max(2 * left, OptimisticIndex.fewAcknowledged)
    if self.loadedAfter != .max { self.loadedAfter = max(self.loadedAfter, limit) }
    if self.neededAfter != .max { self.neededAfter = max(self.neededAfter, limit) }
  }

  /// The newest acknowledged rows that were entered after one that is dead and shown: as many as a store
  /// makes edits of.
  private func rowsOverKept() -> Set<UUID> {
    let kept = self.rows.values.filter { row in
      row.row.isDead && row.edits.contains { $0.whenDead == .kept }
    }
    if kept.isEmpty { return [] }
    let acknowledged = self.rows.values.lazy.map(\.row).filter { $0.sequence != nil }
    return EditsOverKept.newest(Array(acknowledged), enteredAfter: kept.map(\.row))
  }
}
