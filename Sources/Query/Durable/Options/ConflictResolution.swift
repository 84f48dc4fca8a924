/// What becomes of a mutation that the server has refused because what it changes has changed (status
/// 409 without Retry-After, or 412).
public enum ConflictResolution<Arguments: Sendable>: Sendable {
  /// It is sent again with other arguments, in its place in the lane, under a new key.
  case retry(with: Arguments)
  /// The server's version counts: the mutation ends, superseded.
  case drop
  /// It is dead, and kept for a person.
  case giveUp
}
