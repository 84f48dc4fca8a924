import Query

/// The limits of a partition.
package struct CacheLimits: Equatable {
  /// The maximum number of entries.
  var entries: Int
  /// The maximum number of bytes.
  var bytes: Int

  package init(entries: Int, bytes: Int) {
    self.entries = entries
    self.bytes = bytes
  }

  /// Whether a partition exceeds one of them.
  func areExceeded(by totals: CacheChanges.Totals) -> Bool {
    totals.entries > self.entries || totals.bytes > self.bytes
  }
}

/// The progress of an eviction, so that its transactions do not each examine again the entries that
/// stay, being pinned or alive. A new one begins with the least recently used.
package struct EvictionCursor: Equatable {
  /// The last expired entry that was examined.
  var expiresAt = Int64.min
  var expiredID: Int64 = 0
  /// The last entries examined in the order of writing, and in that of use.
  var revision: Int64 = 0
  var use: Int64 = 0

  package init() {}
}

/// The result of one transaction of an eviction.
package struct Eviction: Equatable {
  /// The hashes of the identities of the entries that were removed.
  var removed = [XXH128]()
  /// Whether another transaction, with the same cursor, can do more. If not, the limits hold, or
  /// all remaining entries stay.
  package var hasMore = false
}
