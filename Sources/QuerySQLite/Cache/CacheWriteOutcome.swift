/// The result of ``CacheChanges/write(_:identity:)``.
enum CacheWriteOutcome: Equatable {
  /// There was no entry.
  case inserted(revision: Int64, bytes: Int)
  /// There was an entry, and it differed; the bytes are the increase.
  case updated(revision: Int64, bytes: Int)
  /// Everything was equal; nothing was written.
  case unchanged
  /// Another identity has the hash; nothing was written.
  case collision
}
