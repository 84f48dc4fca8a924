import FoundationEssentials
import Synchronization

/// The durable mutations of a client that have edits, and the stores that show them.
///
/// After a commit that may have changed them, the index reads all mutations of the outbox; it does not
/// follow single events. The call that enqueues a mutation hands it over itself, so that its edits are
/// shown before the call returns.
///
/// Locking: `guarded` has its own lock, under which no store is called and no user code runs.
@usableFromInline
final class OptimisticIndex: EditSource, Sendable {
  private let hasEdits = Atomic(false)

  /// Whether a mutation with edits was declared. Until then a client's stores pay nothing.
  @usableFromInline var isActive: Bool { self.hasEdits.load(ordering: .relaxed) }

  struct Guarded {
    var ground: Ground?
    var declarations = [MutationHandler.Key: Declared]()
    var rows = [UUID: IndexedRow]()
    /// The rows with edits at exactly a path, and those with edits in all queries under one.
    var byPath = [QueryPath: PathRows]()
    var underPaths = Set<UUID>()
    /// How often the latter have changed.
    var versionUnderPaths = 0
    var stores = [QueryPath: [WeakStore]]()
    var storeCount = 0
    var storesBeforePurge = 64
    /// What is known at the path of the last edit: many change the same query.
    var last: LastTarget?
    /// The paths whose stores have another type of state, as a warning has said.
    var reportedPaths = Set<QueryPath>()
    /// Counts the changes of rows.
    var stamp = 0
    /// Rows that were removed: an older reading may still have them, and the one that has removed them may
    /// not have shown that yet.
    var removed = [UUID: RemovedRow]()
    /// How many calls of this client are enqueueing, and what other processes reported meanwhile.
    var enqueueings = 0
    var unplaced = Set<UUID>()
    /// The newest end that the rows show.
    var seen: Int64 = 0
    /// Stores need all successes after `neededAfter`; the index has all after `loadedAfter`.
    var neededAfter = Int64.max
    var loadedAfter = Int64.max
    /// How many stores have come whose values may be older than all others; and the number of acknowledged
    /// rows beyond which the index looks for those that every value includes.
    var arrivals = 0
    var acknowledgedBeforePurge = OptimisticIndex.fewAcknowledged
    /// Successes after ``loadedAfter`` whose edits this process does not know: see ``Foreign``.
    var foreign = Foreign()
    /// Live mutations whose edits this process does not know, and the queries that they change.
    var unknown = [UUID: EditedPaths]()
    /// The mutations that were declared while none had edits.
    var plain = Set<MutationHandler.Key>()
    /// How many mutations were declared: a reading that began before a declaration lacks its rows.
    var declarationCount = 0
    /// The readings of the outbox, as they begin, and the latest one that was taken.
    var readings = 0
    var takenReading = 0
    /// How many readings have taken rows and not laid all edits yet.
    var layings = 0
  }

  /// Where the mutations are.
  struct Ground: Sendable {
    let outbox: any MutationOutbox
    let slots: StorageSlots
    let aliases: AliasReader
    let rereads: Rereads
    let subscription: Locked<QuerySubscription>
  }

  /// A mutation with edits.
  struct Declared: Sendable {
    let declaration: any EditDeclaration
    let mutation: EditingMutation
    private let edits: [DeclaredEdit]

    init(_ declaration: any EditDeclaration) {
      self.declaration = declaration
      self.mutation = EditingMutation(declaration.handler.key)
      self.edits = declaration.declared
    }

    /// The edits of a mutation; none if its arguments are of another type.
    ///
    /// - Parameters:
    ///   - arguments: Its arguments.
    ///   - others: What the store that it was enqueued by declares, which is mostly the same.
    func edits(
      withArguments arguments: any Sendable, from others: MutationEdits
    ) -> [PlacedEdit] {
      self.edits.elementsEqual(others.declared, by: ===)
        ? others.placed : self.declaration.edits(withArguments: arguments)
    }
  }

  /// The rows with edits at a path, and how often they have changed. That is kept when there are none.
  // @unchecked: the variables are guarded by the index's lock.
  final class PathRows: @unchecked Sendable {
    @exclusivity(unchecked) var ids = Set<UUID>()
    @exclusivity(unchecked) var version = 0

    /// - Returns: The version.
    func touch(_ isFirst: Bool, adding id: UUID?) -> Int {
      if let id { self.ids.insert(id) }
      if isFirst { self.version += 1 }
      return self.version
    }
  }

  struct LastTarget: Sendable {
    let target: EditTarget
    let rows: PathRows
    let stores: [WeakStore]
  }

  struct IndexedRow: Sendable {
    var row: OptimisticRow
    let edits: PlacedEdits
    /// When it changed last.
    var stamp: Int
  }

  struct RemovedRow: Sendable {
    let edits: PlacedEdits
    /// When it was removed.
    let stamp: Int
  }

  struct WeakStore: Sendable {
    weak let store: (any OverlaidStore)?

    /// Whether it is there. The reference that tells is kept for the caller to release.
    func isAlive(keptIn kept: inout [any OverlaidStore]) -> Bool {
      guard let store else { return false }
      kept.append(store)
      return true
    }
  }

  let guarded = Locked(Guarded())

  init() {}

  deinit { self.guarded.withLock { $0.ground }?.subscription.withLock { $0 }.cancel() }

  var aliases: AliasReader? { self.guarded.withLock { $0.ground?.aliases } }

  /// The newest end of a mutation that the storage knows.
  var endedSequence: Int64 { self.guarded.withLock { $0.ground }?.outbox.endedSequence ?? 0 }
}

// MARK: - Declarations

/// A mutation with edits.
protocol EditDeclaration: Sendable {
  var handler: MutationHandler { get }
  var declared: [DeclaredEdit] { get }

  /// The edits of a row; nil if this release cannot read its arguments. Another one may.
  func edits(of entry: OutboxEntry) -> [PlacedEdit]?

  /// The edits of a mutation; none if its arguments are of another type.
  func edits(withArguments arguments: any Sendable) -> [PlacedEdit]
}

extension OptimisticIndex {
  /// Notes a mutation that has no edits, as long as none has any.
  func declarePlain(_ key: MutationHandler.Key) {
    self.guarded.withLock { index in
      index.plain.insert(key)
      index.foreign.remove(key)
    }
  }

  /// Lets the edits of a mutation be shown. A later declaration of the same mutation takes the place of
  /// an earlier one.
  ///
  /// - Parameters:
  ///   - declaration: The mutation.
  ///   - storage: Its storage. If a client has several, only the mutations of the first are shown.
  ///   - client: The client, with the stores that it has already.
  ///   - replacing: Whether it takes the place of an earlier declaration.
  func declare(
    _ declaration: any EditDeclaration, in storage: any QueryStorage, of client: QueryClient?,
    _ pause: @escaping Rereads.Pause, replacing: Bool
  ) {
    let key = declaration.handler.key
    let (slots, outbox) = (storage.slots, storage.outbox)
    let ground = Ground(
      outbox: outbox, slots: slots, aliases: AliasReader(outbox), rereads: Rereads(pause),
      subscription: Locked(.empty))
    let (isNew, isFirst, isOthers) = self.guarded.withLock { index in
      if let known = index.ground, known.slots !== slots { return (false, false, true) }
      let isFirst = index.ground == nil
      if isFirst { index.ground = ground }
      let isNew = replacing || index.declarations[key] == nil
      if isNew {
        index.declarations[key] = Declared(declaration)
        index.declarationCount += 1
        index.foreign.remove(key)
        // No row of this mutation is loaded yet.
        if index.loadedAfter != .max { index.loadedAfter = index.seen }
        // They are placed anew.
        for (id, row) in index.rows where row.row.mutation.key == key { index.remove(id) }
      }
      return (isNew, isFirst, false)
    }
    guard isNew, !isOthers else { return }
    if isFirst { self.begin(ground, with: client) }
    self.read()
    for store in self.livingStores { self.relay(store) }
  }

  private func begin(_ ground: Ground, with client: QueryClient?) {
    let subscription = ground.outbox.subscribe { [weak self] event in self?.didChange(event) }
    ground.subscription.withLock { $0 = subscription }
    ground.slots.add(self)
    self.hasEdits.store(true, ordering: .sequentiallyConsistent)
    guard let client else { return }
    for store in client.stores(matching: QueryPath()) {
      guard let store = store.erased as? any OverlaidStore else { continue }
      if store.isOverlayable, !store.isHydrating { self.note(store) }
    }
  }

  var livingStores: [any OverlaidStore] {
    self.guarded.withLock { index in index.stores.values.flatMap { $0.compactMap(\.store) } }
  }
}

// MARK: - Reading the outbox

extension OptimisticIndex {
  private func didChange(_ event: OutboxEvent) {
    switch event {
    case .enqueued(let id), .claimed(let id), .reaped(let id), .pending(let id), .succeeded(let id),
      .dead(let id, _), .cancelled(let id), .superseded(let id, _), .discarded(let id):
      let isRead = self.guarded.withLock { index in
        if index.rows[id] != nil {
          if case .enqueued = event { return false }
          return true
        }
        if index.unknown[id] != nil { return true }
        switch event {
        // What this client enqueues is handed over by the call.
        case .enqueued where index.enqueueings > 0:
          index.unplaced.insert(id)
          return false
        case .enqueued: return true
        case .claimed: return false
        // Another mutation has no edits, unless it is about to be brought in as it stood before.
        default: return index.mayBringIn
        }
      }
      if isRead { self.requestReading() }
    case .changedByAnotherProcess, .released: self.requestReading()
    case .erased: self.didErase()
    }
  }

  func requestReading() {
    self.guarded.withLock { $0.ground }?.rereads.request { [weak self] in self?.read() }
  }

  private func didErase() {
    self.guarded.withLock { index in
      index.ground?.aliases.forget()
      for id in index.rows.keys { index.remove(id) }
      index.unknown = [:]
    }
    self.layEverywhere()
    for store in self.livingStores { store.pendingChangesDidChange() }
    self.requestReading()
  }

  /// Reads what became of the rows, and lays their edits over the stores. If a store needs older rows, it
  /// reads once more.
  func read() {
    // If the outbox cannot be read now, it is read at the next change.
    while let isWhole = self.readOnce(), !isWhole {}
  }

  /// - Returns: Whether all rows that stores need are in memory; nil if the outbox cannot be read now.
  private func readOnce() -> Bool? {
    let (ground, handlers, start, number, stamp, declarationCount) = self.guarded.withLock {
      index in
      index.readings += 1
      return (
        index.ground, Set(index.declarations.values.map(\.declaration.handler)), index.firstToRead,
        index.readings, index.stamp, index.declarationCount
      )
    }
    guard let ground,
      let log = try? ground.outbox.log(of: handlers, endedAfter: start)
    else { return nil }
    let (placed, unreadable) = self.place(log)
    let (change, isAlone, isWhole) = self.guarded.withLock { index -> (RowChange?, Bool, Bool) in
      // A later reading that was taken knows more.
      guard number > index.takenReading else { return (nil, false, index.isWhole) }
      index.takenReading = number
      index.layings += 1
      let change = index.take(log, placed, readAt: stamp, unreadable)
      if index.declarationCount == declarationCount {
        index.didLoad(endedAfter: min(start, log.sequence))
      }
      return (change, index.layings == 1, index.isWhole)
    }
    if let change {
      self.lay(change)
      self.guarded.withLock { $0.layings -= 1 }
    }
    if !isAlone {
      // Another reading may not have shown yet what the caller expects to see.
      for store in self.livingStores {
        self.relay(store)
        store.settleEdits()
      }
    }
    return isWhole
  }

  /// Decodes the edits of rows that are new or whose arguments have changed.
  ///
  /// - Returns: The edits, and the rows whose arguments cannot be read.
  private func place(_ log: MutationLog) -> ([UUID: [PlacedEdit]], unreadable: Set<UUID>) {
    let unknown = self.guarded.withLock { index in
      log.records.compactMap { record -> (OutboxEntry, any EditDeclaration)? in
        if let known = index.rows[record.id], known.row.key.text == record.idempotencyKey {
          return nil
        }
        let entry = record.entry
        return index.declarations[.init(name: entry.name, instance: entry.instance)]
          .map { (entry, $0.declaration) }
      }
    }
    var placed = [UUID: [PlacedEdit]](minimumCapacity: unknown.count)
    var unreadable = Set<UUID>()
    for (entry, declaration) in unknown {
      if let edits = declaration.edits(of: entry) {
        placed[entry.id] = edits
      } else {
        unreadable.insert(entry.id)
      }
    }
    return (placed, unreadable)
  }
}

// MARK: - Enqueueing here

extension OptimisticIndex {
  /// What an enqueueing must know of the index before it commits.
  struct Enqueueing: Sendable {
    fileprivate let readings: Int
    fileprivate let stamp: Int
  }

  /// Begins an enqueueing, which ``didEndEnqueueing()`` ends.
  func willEnqueue() -> Enqueueing {
    self.guarded.withLock { index in
      index.enqueueings += 1
      return Enqueueing(readings: index.readings, stamp: index.stamp)
    }
  }

  /// Ends an enqueueing, whether it has failed or not.
  func didEndEnqueueing() {
    let isRead = self.guarded.withLock { index in
      index.enqueueings -= 1
      guard index.enqueueings == 0, !index.unplaced.isEmpty else { return false }
      defer { index.unplaced = [] }
      return !index.unplaced.isSubset(of: index.rows.keys)
    }
    if isRead { self.requestReading() }
  }

  /// Shows a mutation that was committed.
  ///
  /// - Parameters:
  ///   - enqueued: The answer of the outbox.
  ///   - arguments: Its arguments.
  ///   - edits: What the store that it was enqueued by declares.
  ///   - handler: What it is.
  ///   - before: The answer of ``willEnqueue()``.
  func didEnqueue(
    _ enqueued: EnqueuedMutation, _ arguments: any Sendable, _ edits: MutationEdits,
    _ handler: MutationHandler, since before: Enqueueing
  ) {
    let key = handler.key
    let declared = self.guarded.withLock { index in
      index.unplaced.remove(enqueued.entry.id)
      return index.declarations[key]
    }
    guard !enqueued.isOld, let declared else { return }
    let row = OptimisticRow(enqueued.entry, of: declared.mutation)
    let edits = declared.edits(withArguments: arguments, from: edits)
    let (change, stores, isOverlooked) = self.guarded.withLock { index in
      var change = RowChange(since: index.seen)
      let stamp = index.nextStamp()
      if let old = enqueued.superseded { index.end(old, &change, at: stamp) }
      let hasEnded = index.removed[row.id].map { $0.stamp > before.stamp } ?? false
      if index.rows[row.id] == nil, !hasEnded {
        index.removed[row.id] = nil
        index.insert(row, edits, &change, at: stamp)
      } else {
        // A reading on another thread has it or its end, and may not have shown it yet.
        change.add(edits)
      }
      // A reading that has begun meanwhile may have seen its end before it was known here.
      return (change, index.livingStores(of: change), index.readings != before.readings)
    }
    self.lay(change, isSettled: true, in: stores)
    if isOverlooked { self.requestReading() }
  }
}
