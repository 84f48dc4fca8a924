/// How much of the history of ended mutations is kept. 0 turns a limit off.
public struct MutationHistoryLimits: Hashable, Sendable {
  /// How many of each mutation. 50 by default.
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
