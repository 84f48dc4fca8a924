/// What a lane does after one of its mutations is dead.
public enum LanePolicy: String, Hashable, Sendable {
  /// The next one is sent.
  case `continue`
  /// The rest waits until somebody retries or discards the dead one.
  case halt
}
