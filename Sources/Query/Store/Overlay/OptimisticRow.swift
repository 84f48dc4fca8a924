import FoundationEssentials

/// A mutation with edits, as it stands. A program may hold many of them in memory, so rows share what they
/// have in common.
final class OptimisticRow: Sendable {
  let id: UUID
  let mutation: EditingMutation
  let number: Int
  let key: CompactKey
  let lane: String?
  let createdAt: Date
  /// Its place in the order of ends; nil: it is live or dead.
  let sequence: Int64?
  let standing: OptimisticContext.Standing
  let maybeApplied: Bool
  /// Most have none.
  private let failure: Failure?

  private final class Failure: Sendable {
    let error: RestoredError

    init(_ error: RestoredError) { self.error = error }
  }

  var lastError: RestoredError? { self.failure?.error }

  /// - Returns: Nil if it has ended without success, so that it has no edit.
  convenience init?(_ record: RecordedMutation, of mutation: EditingMutation) {
    switch record.state {
    case .outbox: self.init(record.entry, of: mutation)
    case .ended(.succeeded): self.init(record.entry, of: mutation, .acknowledged, record.sequence)
    case .ended: return nil
    }
  }

  /// A row of one that is live or dead.
  convenience init(_ entry: OutboxEntry, of mutation: EditingMutation) {
    let standing: OptimisticContext.Standing =
      switch entry.state {
      case .pending: .waiting(entry.waitReason)
      case .leased: .running
      case .dead: .dead(entry.deadReason ?? .rejected)
      }
    self.init(entry, of: mutation, standing, nil)
  }

  private init(
    _ entry: OutboxEntry, of mutation: EditingMutation, _ standing: OptimisticContext.Standing,
    _ sequence: Int64?
  ) {
    (self.id, self.mutation, self.number) = (entry.id, mutation, entry.number)
    self.key = CompactKey(entry.idempotencyKey)
    (self.lane, self.createdAt) = (entry.lane, entry.createdAt)
    (self.sequence, self.standing) = (sequence, standing)
    (self.maybeApplied, self.failure) = (entry.maybeApplied, entry.lastError.map(Failure.init))
  }

  private init(_ row: OptimisticRow, _ standing: OptimisticContext.Standing) {
    (self.id, self.mutation, self.number) = (row.id, row.mutation, row.number)
    (self.key, self.lane, self.createdAt) = (row.key, row.lane, row.createdAt)
    (self.sequence, self.standing) = (row.sequence, standing)
    (self.maybeApplied, self.failure) = (row.maybeApplied, row.failure)
  }

  /// The same mutation, standing elsewhere.
  func with(_ standing: OptimisticContext.Standing) -> OptimisticRow {
    OptimisticRow(self, standing)
  }

  /// Whether it is shown, and not only the edits of it that are kept when it is dead.
  var isDead: Bool { if case .dead = self.standing { true } else { false } }

  /// Where its edits are made: what is acknowledged comes first, in the order of its ends; then the rest,
  /// in that of its numbers.
  var place: (group: Int, number: Int) { self.sequence.map { (0, Int($0)) } ?? (1, self.number) }

  /// What an edit is told of it.
  func context(_ aliases: AliasReader?) -> OptimisticContext {
    OptimisticContext(
      mutationID: self.id, number: self.number, createdAt: self.createdAt,
      standing: self.standing, maybeApplied: self.maybeApplied, aliases: aliases)
  }

  /// What a list of unsent changes shows of it.
  var pendingChange: PendingChange {
    PendingChange(
      id: self.id, name: self.mutation.key.name, number: self.number, lane: self.lane,
      standing: self.standing, lastError: self.lastError)
  }

  /// Whether another reading of the row says the same.
  func isSame(as other: OptimisticRow) -> Bool {
    self.key == other.key && self.sequence == other.sequence && self.standing == other.standing
      && self.maybeApplied == other.maybeApplied && self.lastError == other.lastError
  }
}

/// A mutation whose edits are known. All its rows share this one.
final class EditingMutation: Sendable {
  let key: MutationHandler.Key

  init(_ key: MutationHandler.Key) { self.key = key }
}

/// One edit of a row, to be made in a store.
struct LaidEdit: Sendable {
  let row: OptimisticRow
  let edit: PlacedEdit

  /// Whether it is shown although its mutation is dead.
  var isKept: Bool { self.row.isDead && self.edit.whenDead == .kept }

  /// The order in which edits are made: what is acknowledged, in the order of its ends, then what is live,
  /// in that of its numbers. What is dead comes before the first that was entered later.
  ///
  /// - Parameter edits: Those of one row stand together, and keep their order.
  static func inOrder(_ edits: [LaidEdit]) -> [LaidEdit] {
    // Places are sorted instead of edits, whose moves count references. The sort is stable.
    let places = edits.map(\.row.place)
    let order = places.indices.sorted { places[$0] < places[$1] }
    return order.map { edits[$0] }.placingDead(\.row.isDead, number: \.row.number)
  }
}

/// How much of the outbox's history a value has.
@usableFromInline
struct ValueMark: Hashable, Sendable {
  /// What ended with this number or a lower one was known to have ended when the value's fetch began.
  var sequence: Int64
  /// The keys of mutations that its server said it includes; nil: it has said nothing. None are an answer,
  /// too.
  var includedKeys: Set<String>?

  /// Whether a value with this mark has an edit.
  func covers(_ row: OptimisticRow) -> Bool {
    if let sequence = row.sequence, sequence <= self.sequence { return true }
    guard let includedKeys, !includedKeys.isEmpty else { return false }
    return includedKeys.contains(row.key.text)
  }

  /// Lowers the mark to that of a value of which another part stays.
  mutating func formUnion(withPartOf other: ValueMark) {
    self.sequence = min(self.sequence, other.sequence)
    // What the server has said of one part says nothing of the other, which may have an edit all the same.
    if self.includedKeys == nil, other.includedKeys == nil { return }
    self.includedKeys = (self.includedKeys ?? []).intersection(other.includedKeys ?? [])
  }
}

/// The ends of mutations between the marks of two values, one of which takes the place of the other.
struct EditGap: Equatable {
  /// All successes after this end must be known.
  let start: Int64
  /// The index must have read the outbox after this end.
  let end: Int64
}

extension StoredEntry {
  /// How much of the outbox's history the value has; nil: that is not known.
  var mark: ValueMark? {
    get {
      self.outboxSequence.map { ValueMark(sequence: $0, includedKeys: self.includedKeys) }
    }
    set {
      self.outboxSequence = newValue?.sequence
      self.includedKeys = newValue?.includedKeys
    }
  }
}
