import Query

/// What a partition may have.
struct CacheLimits: Equatable {
  /// How many entries at most.
  var entries: Int
  /// How many bytes at most.
  var bytes: Int

  /// Whether a partition has more.
  func areExceeded(by totals: CacheChanges.Totals) -> Bool {
    totals.entries > self.entries || totals.bytes > self.bytes
  }
}

/// How far eviction has come, so that what stays, being pinned or alive, is not looked at again by
/// each of its transactions. A new one begins with what was used longest ago.
struct EvictionCursor: Equatable {
  /// The last expired entry that had its turn.
  var expiresAt = Int64.min
  var expiredID: Int64 = 0
  /// The last entry in the order of writing, and in that of use.
  var revision: Int64 = 0
  var use: Int64 = 0
}

/// What one transaction of an eviction did.
struct Eviction: Equatable {
  /// The hashes of the identities of the entries that were removed.
  var removed = [XXH128]()
  /// Whether another transaction, with the same cursor, can do more. Otherwise the limits hold, or
  /// all that is left stays.
  var hasMore = false
}
