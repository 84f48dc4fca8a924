import FoundationEssentials

/// The ended mutations that the history has forgotten: a later one may depend on one of them, or be
/// one of them once more.
struct ForgottenMutations: Sendable {
  struct Mutation: Sendable {
    let id: UUID
    let outcome: RecordedMutation.Outcome
    let successor: UUID?
    let endedAt: Date
    let sequence: Int
  }

  private var byID = [UUID: Mutation]()
  /// In the order of ending.
  private var order = [Mutation]()

  subscript(id: UUID) -> Mutation? { self.byID[id] }

  /// Remembers one that the history forgets.
  ///
  /// - Parameter newest: The place of the newest in the order of ending.
  mutating func insert(_ ended: EndedMutation, newest: Int) {
    let mutation = Mutation(
      id: ended.record.id, outcome: ended.outcome, successor: ended.record.successor,
      endedAt: ended.endedAt, sequence: ended.sequence)
    self.byID[mutation.id] = mutation
    // Nearly always the last.
    let place = self.order.lastIndex { $0.sequence < mutation.sequence }.map { $0 + 1 } ?? 0
    self.order.insert(mutation, at: place)
    while let first = self.order.first,
      first.sequence <= newest - MutationHistoryLimits.forgotten
    {
      self.byID[first.id] = nil
      self.order.removeFirst()
    }
  }

  /// Removes those of the first ones that ended too long ago.
  mutating func prune(atMost count: Int, _ isPast: (Date) -> Bool) {
    guard self.order.prefix(count).contains(where: { isPast($0.endedAt) }) else { return }
    let doomed = Set(self.order.prefix(count).filter { isPast($0.endedAt) }.map(\.id))
    for id in doomed { self.byID[id] = nil }
    self.order.removeAll { doomed.contains($0.id) }
  }
}
