/// How much of what an attempt of a durable mutation sends has been sent.
public struct MutationProgress: Hashable, Sendable {
  /// How much was sent, in bytes or in units of the mutation's own.
  public var sent: Int64
  /// How much there is to send, in the same units; nil: that is not known.
  public var total: Int64?

  /// Creates a progress. See the properties for what each is.
  public init(sent: Int64, total: Int64? = nil) {
    self.sent = sent
    self.total = total
  }

  /// The part that was sent, from 0 to 1; nil if the whole is not known, or is nothing.
  public var fraction: Double? {
    guard let total, total > 0 else { return nil }
    return min(max(Double(self.sent) / Double(total), 0), 1)
  }

  /// Whether it is worth telling after another one: it is the end, it began again, or a hundredth of the
  /// whole is between them.
  func isNews(after last: MutationProgress?) -> Bool {
    guard let last, last.total == self.total, last.sent <= self.sent else { return true }
    if last.sent == self.sent { return false }
    if self.sent == self.total { return true }
    return self.sent.clampedDifference(last.sent) >= max((self.total ?? 0) / 100, 1 << 16)
  }
}
