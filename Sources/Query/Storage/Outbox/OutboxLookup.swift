package import FoundationEssentials

/// How an outbox finds the mutations that a new one names, and the rules of enqueueing that need it.
package protocol OutboxLookup {
  /// What tells rows apart.
  associatedtype Row: Hashable

  /// A live or dead mutation.
  func row(of id: UUID) throws -> Row?

  /// How a mutation has ended, and the one that superseded it; nil if the history has it not.
  func end(of id: UUID) throws -> (outcome: RecordedMutation.Outcome, successor: UUID?)?
}

extension OutboxLookup {
  /// The rows that must succeed before a new mutation, each once.
  ///
  /// A superseded mutation counts as its successor does; if what the server has superseded it, it
  /// counts as succeeded.
  ///
  /// - Throws: ``OutboxError/unknownDependencies(_:)``; ``OutboxError/ended(_:)`` of one that will
  ///   not succeed; the look-ups' errors.
  package func openDependencies(of new: NewMutation) throws -> [Row] {
    var open = [Row]()
    var known = Set<Row>()
    var unknown = [UUID]()
    var ended: UUID?
    for id in new.dependencies {
      var next: UUID? = id
      while let current = next {
        next = nil
        if let row = try self.row(of: current) {
          if known.insert(row).inserted { open.append(row) }
          continue
        }
        let end = try self.end(of: current)
        switch end?.outcome {
        case nil: if !unknown.contains(id) { unknown.append(id) }
        case .succeeded: break
        case .superseded: next = end?.successor
        case .cancelled, .discarded: ended = ended ?? id
        }
      }
    }
    if !unknown.isEmpty { throw OutboxError.unknownDependencies(unknown) }
    if let ended { throw OutboxError.ended(ended) }
    return open
  }
}

extension OutboxLookup {
  /// The answer for a mutation whose identifier is taken.
  ///
  /// - Parameters:
  ///   - new: The mutation.
  ///   - known: The entry of the mutation that has the identifier; nil if the history has forgotten it.
  /// - Throws: ``StorageError`` (constraint) unless the new one may be that one.
  package func answer(
    toRepeated new: NewMutation, _ known: OutboxEntry?, at now: OutboxTime
  ) throws(StorageError) -> EnqueuedMutation {
    let entry = known ?? OutboxEntry(new, number: 0, createdAt: now.wall)
    guard new.isRepeatable, entry.name == new.name, entry.instance == new.instance else {
      throw StorageError(
        operation: "enqueue", code: .constraint,
        message: "there is a mutation of this identifier already")
    }
    return EnqueuedMutation(entry: entry, isOld: true)
  }
}

extension NewMutation {
  /// Whether it takes the place of the last live row of its lane, unless a mutation depends on that.
  ///
  /// - Parameters:
  ///   - name: The row's name.
  ///   - instance: The row's instance.
  ///   - standing: The row's standing.
  package func replaces(name: String, instance: String, _ standing: OutboxStanding) -> Bool {
    self.coalesce == .latest && self.lane != nil && name == self.name
      && instance == self.instance && standing.state == .pending && standing.attempts == 0
  }
}

extension RecordedMutation.Outcome {
  /// Whether the mutations that depend on one that ended so will never be due.
  package var isMissed: Bool { self == .cancelled || self == .discarded }
}

extension FailedAttempt.Next {
  /// The alias that it names.
  package var awaitedAlias: String? {
    if case .waitForAlias(let alias) = self { alias } else { nil }
  }
}

extension OutboxEvent {
  /// The event of an end.
  package init(
    _ outcome: RecordedMutation.Outcome, of id: UUID, successor: UUID? = nil
  ) {
    self =
      switch outcome {
      case .succeeded: .succeeded(id)
      case .cancelled: .cancelled(id)
      case .superseded: .superseded(id, by: successor)
      case .discarded: .discarded(id)
      }
  }
}
