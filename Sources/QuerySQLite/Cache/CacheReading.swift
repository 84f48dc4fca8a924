import Query

/// The result of ``CacheTables/read(_:limit:)``.
enum CacheReading: Equatable {
  /// An entry, with its revision.
  case entry(StoredEntry)
  /// No entry.
  case absent
  /// Another identity with the same hash.
  case collision
  /// An entry whose bytes are not those that were written: ``CacheChanges/quarantine(_:revision:_:now:)``.
  case wrongChecksum(revision: Int64)
  /// An entry with more bytes than the limit; its value was not read.
  case large(byteCount: Int)
}
