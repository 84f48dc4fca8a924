/// When a process looks for what others have left over: one that ends something leaves to later steps what
/// takes long, and may exit before it has done them.
struct LeftoverLooks {
  /// A look at a partition.
  struct Look {
    let due: SuspendingClock.Instant
    /// The newest end that was known when the look was planned. The process of younger ones may well be
    /// doing what follows from them.
    let lastSequence: Int64
  }

  /// How long another process has for what it has left over; one that lives is done with most by then.
  private static let patience = Duration.seconds(3)

  private var looks = [String: Look]()
  /// How long the last look at each took: no more than a twentieth of the time is spent on them.
  private var lengths = [String: Duration]()

  /// When the first look is due; nil: there is none.
  var due: SuspendingClock.Instant? { self.looks.values.lazy.map(\.due).min() }

  /// Plans a look, unless there is one.
  ///
  /// - Parameters:
  ///   - partition: The partition.
  ///   - lastSequence: The newest end that is known.
  mutating func plan(for partition: String, after lastSequence: Int64) {
    if self.looks[partition] != nil { return }
    let wait = max(Self.patience, (self.lengths[partition] ?? .zero) * 20)
    self.looks[partition] = Look(due: .now + wait, lastSequence: lastSequence)
  }

  /// Takes the look that is due.
  mutating func take(for partition: String, _ now: SuspendingClock.Instant) -> Look? {
    guard let look = self.looks[partition], now >= look.due else { return nil }
    self.looks[partition] = nil
    return look
  }

  /// Notes how long a look took.
  mutating func note(_ length: Duration, for partition: String) {
    self.lengths[partition] = length
  }
}
