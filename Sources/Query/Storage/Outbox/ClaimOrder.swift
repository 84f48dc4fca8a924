/// The place of a due row among those that a claim may take.
///
/// One that was never tried goes before one that was: failures must not keep the others from being
/// tried. Those go by their numbers. Repeats go by the time since which they are due, so that each
/// has its turn, however short the waits are. One that waits for no time, since a caller has asked for
/// it or what it waited for is there, goes first.
package struct ClaimOrder: Hashable, Sendable, Comparable {
  private let rank: Int
  private let dueBoottime: Int64
  private let number: Int64

  /// - Parameters:
  ///   - number: The row's number.
  ///   - isRepeat: Whether it was tried before.
  ///   - dueBoottime: Since when it is due; not used for one that was never tried.
  ///   - host: Its host.
  ///   - slots: What is left of the claim's slots.
  package init(
    number: Int64, isRepeat: Bool, dueBoottime: Int64, host: String, _ slots: HostSlots
  ) {
    self.rank =
      !isRepeat ? 1 : dueBoottime == 0 || slots.repeatsFirst.contains(host) ? 0 : 2
    self.dueBoottime = isRepeat ? dueBoottime : 0
    self.number = number
  }

  package static func < (a: Self, b: Self) -> Bool {
    (a.rank, a.dueBoottime, a.number) < (b.rank, b.dueBoottime, b.number)
  }
}

extension HostSlots {
  /// Uses up a slot.
  package mutating func take(_ host: String, isRepeat: Bool) {
    self[host] -= 1
    if isRepeat { self.repeatsFirst.remove(host) }
  }
}
