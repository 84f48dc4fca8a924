/// The place of a due row among those that a claim may take.
///
/// One that was never tried goes before one that was: failures must not keep the others from being
/// tried. Among each of these the more urgent go first; then those that were never tried go by their
/// numbers, and repeats by the time since which they are due, so that each has its turn, however short the
/// waits are. One that waits for no time, since a caller has asked for it or what it waited for is there,
/// goes first.
package struct ClaimOrder: Hashable, Sendable, Comparable {
  private let rank: Int
  private let priority: MutationPriority
  private let dueBoottime: Int64
  private let number: Int64

  /// - Parameters:
  ///   - number: The row's number.
  ///   - isRepeat: Whether it was tried before.
  ///   - dueBoottime: Since when it is due; not used for one that was never tried.
  ///   - priority: How urgent it is.
  ///   - host: Its host.
  ///   - slots: What is left of the claim's slots.
  package init(
    number: Int64, isRepeat: Bool, dueBoottime: Int64, priority: MutationPriority = .normal,
    host: String, _ slots: HostSlots
  ) {
    self.rank =
      !isRepeat ? 1 : dueBoottime == 0 || slots.repeatsFirst.contains(host) ? 0 : 2
    self.priority = priority
    self.dueBoottime = isRepeat ? dueBoottime : 0
    self.number = number
  }

  package static func < (a: Self, b: Self) -> Bool {
    (a.rank, -a.priority.rawValue, a.dueBoottime, a.number)
      < (b.rank, -b.priority.rawValue, b.dueBoottime, b.number)
  }

  /// Whether one goes first if priorities do not count.
  fileprivate func isEarlier(than other: Self) -> Bool {
    (self.rank, self.dueBoottime, self.number) < (other.rank, other.dueBoottime, other.number)
  }
}

/// How often in a row more urgent rows went before the one whose turn it was.
package struct ClaimTurns: Hashable, Sendable {
  /// After so many it is that one's turn.
  package static let most = 8

  package var overtakings: Int

  package init(overtakings: Int = 0) { self.overtakings = overtakings }

  /// Chooses the next row of those that a claim may take.
  ///
  /// - Parameters:
  ///   - candidates: Those that may be taken.
  ///   - order: The place of each.
  /// - Returns: The row, and what it makes of the turns if it is taken; nil if there is none.
  package func next<Candidate>(
    of candidates: some Sequence<Candidate>, by order: (Candidate) -> ClaimOrder
  ) -> (candidate: Candidate, turns: ClaimTurns)? {
    var first: (candidate: Candidate, order: ClaimOrder)?
    var fair: (candidate: Candidate, order: ClaimOrder)?
    for candidate in candidates {
      let order = order(candidate)
      if first.map({ order < $0.order }) ?? true { first = (candidate, order) }
      if fair.map({ order.isEarlier(than: $0.order) }) ?? true { fair = (candidate, order) }
    }
    guard let first, let fair else { return nil }
    if first.order == fair.order || self.overtakings >= Self.most {
      return (fair.candidate, ClaimTurns())
    }
    return (first.candidate, ClaimTurns(overtakings: self.overtakings + 1))
  }
}

extension HostSlots {
  /// Uses up a slot.
  package mutating func take(_ host: String, isRepeat: Bool) {
    self[host] -= 1
    if isRepeat { self.repeatsFirst.remove(host) }
  }
}
