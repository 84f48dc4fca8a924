public import Query

extension OutboxCounts {
  /// How many rows there are, without the date of the oldest.
  public var rows: OutboxCounts {
    OutboxCounts(pending: self.pending, leased: self.leased, dead: self.dead)
  }
}
