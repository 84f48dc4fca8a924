/// Whether a newer mutation takes the place of an older one of the same name and lane.
public enum CoalescePolicy: String, Hashable, Sendable {
  /// Each is sent.
  case none
  /// A new one supersedes the last one of its lane, where that was never attempted, and nothing
  /// depends on it. It needs a scope, and is for arguments that carry the whole state: of two partial
  /// edits the first would be lost.
  case latest
}
