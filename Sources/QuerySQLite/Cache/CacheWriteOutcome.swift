/// What ``CacheChanges/write(_:identity:)`` did.
enum CacheWriteOutcome: Equatable {
  /// There was no entry.
  case inserted(revision: Int64, bytes: Int)
  /// There was one, and something was different; so many bytes more than before.
  case updated(revision: Int64, bytes: Int)
  /// All was the same; nothing was written.
  case unchanged
  /// Another identity has the hash; nothing was written.
  case collision
}
