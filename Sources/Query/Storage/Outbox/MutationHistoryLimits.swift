/// How much of the history of ended mutations is kept. 0 turns a limit off.
public struct MutationHistoryLimits: Hashable, Sendable {
  /// How many of each mutation, apart from those that ended in the last 24 hours: their tickets may still
  /// be asked for. 50 by default.
  public var perMutation: Int
  /// How many in all. 5 000 by default.
  public var total: Int
  /// For how many days. 30 by default.
  public var days: Int
  /// How many bytes of arguments, results and errors. 8 MiB by default.
  public var bytes: Int

  static let `default` = Self()

  /// How many ended mutations' identifiers are remembered, at most, after the history has forgotten
  /// the rest of them.
  package static let forgotten = 1_000_000

  /// For how many days they are, at least: a mutation may depend on one that was sent long ago.
  package var forgottenDays: Int { self.days > 0 ? max(self.days, 30) : 30 }

  /// Creates limits. See the properties for what each is.
  public init(
    perMutation: Int = 50,
    total: Int = 5_000,
    days: Int = 30,
    bytes: Int = 8 << 20
  ) {
    self.perMutation = perMutation
    self.total = total
    self.days = days
    self.bytes = bytes
  }
}

extension MutationHistoryLimits {
  /// How long a mutation is kept at least, however many there are of its kind, in microseconds.
  package static let recent: Int64 = 24 * 3_600 * 1_000_000

  /// How many rows may exceed ``total`` until they are removed together: an end that removes one row
  /// changes as many pages as one that removes many.
  package var totalSlack: Int { min(self.total / 50, 63) }

  /// How many bytes may exceed ``bytes``.
  package var byteSlack: Int { self.bytes / 50 }

  /// Whether a history is larger than it may be.
  ///
  /// - Parameters:
  ///   - count: How many rows it has.
  ///   - bytes: How many bytes.
  ///   - withSlack: Whether it may exceed the limits a little.
  package func isExceeded(count: Int64, bytes: Int64, withSlack: Bool) -> Bool {
    let (rows, more) = withSlack ? (self.totalSlack, self.byteSlack) : (0, 0)
    return self.total > 0 && count > Int64(self.total).clampedSum(Int64(rows))
      || self.bytes > 0 && bytes > Int64(self.bytes).clampedSum(Int64(more))
  }
}
