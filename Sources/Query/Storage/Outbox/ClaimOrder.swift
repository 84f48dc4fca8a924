/// The place of a due row among those that a claim may take.
///
/// One that was never tried goes before one that was: failures must not keep the others from being
/// tried. Among each of these the more urgent go first; then those that were never tried go by their
/// numbers, and repeats by the time since which they are due, so that each has its turn, however short the
/// waits are. One that waits for no time, since a caller has asked for it or what it waited for is there,
/// goes first. ``ClaimTurns`` sees to it that nobody waits for ever.
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

  /// Whether it is a repeat that goes behind all that were never tried.
  fileprivate var isBehindFirstTries: Bool { self.rank == 2 }

  /// Whether one goes first if priorities do not count.
  fileprivate func isEarlier(than other: Self) -> Bool {
    (self.rank, self.dueBoottime, self.number) < (other.rank, other.dueBoottime, other.number)
  }
}

/// How often in a row others went before a row whose turn comes in the end.
package struct ClaimTurns: Hashable, Sendable {
  /// After so many it is the turn of the one that was entered first.
  package static let most = 8
  /// After so many it is the turn of the first repeat: a failure must not keep the others from being tried.
  package static let mostBeforeRepeat = 64

  /// How often more urgent rows went before the one that was entered first.
  package let overtakings: Int
  /// How often others went before the first repeat: new ones may come without an end.
  package let repeatOvertakings: Int

  package init(overtakings: Int = 0, repeatOvertakings: Int = 0) {
    (self.overtakings, self.repeatOvertakings) = (overtakings, repeatOvertakings)
  }

  /// Takes what was stored; any number is possible in a damaged file.
  package init(stored: Int64) {
    self.init(
      overtakings: min(Int(stored & 0xFF), Self.most),
      repeatOvertakings: min(Int(stored >> 8 & 0xFF), Self.mostBeforeRepeat))
  }

  /// As one number for a storage.
  package var stored: Int { self.repeatOvertakings << 8 | self.overtakings }

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
    var repeated: (candidate: Candidate, order: ClaimOrder)?
    for candidate in candidates {
      let order = order(candidate)
      if order.isBehindFirstTries, repeated.map({ order.isEarlier(than: $0.order) }) ?? true {
        repeated = (candidate, order)
      }
      if first.map({ order < $0.order }) ?? true { first = (candidate, order) }
      if fair.map({ order.isEarlier(than: $0.order) }) ?? true { fair = (candidate, order) }
    }
    guard let first, let fair else { return nil }
    if let repeated, self.repeatOvertakings >= Self.mostBeforeRepeat {
      return (repeated.candidate, ClaimTurns(overtakings: self.overtakings))
    }
    let isTurn = first.order == fair.order || self.overtakings >= Self.most
    let next = isTurn ? fair : first
    let isOvertaking = repeated.map { $0.order != next.order } ?? false
    return (
      next.candidate,
      ClaimTurns(
        overtakings: isTurn ? 0 : self.overtakings + 1,
        repeatOvertakings: isOvertaking ? self.repeatOvertakings + 1 : 0)
    )
  }
}

extension HostSlots {
  /// Uses up a slot.
  package mutating func take(_ host: String, isRepeat: Bool) {
    self[host] -= 1
    if isRepeat { self.repeatsFirst.remove(host) }
  }
}
