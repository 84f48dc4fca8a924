package import Query

/// What a store comes to.
package struct StoreStatistics: Hashable, Sendable {
  /// A database file.
  package struct File: Hashable, Sendable {
    /// Its name without a folder.
    package let name: String
    /// The absolute path of its folder.
    package let folder: String
    /// Its bytes.
    package let byteCount: Int
    /// The bytes of its WAL; nil: it has none.
    package let logByteCount: Int?
    /// The bytes of a page.
    package let pageSize: Int
    /// How many pages it has.
    package let pages: Int
    /// How many of them hold nothing.
    package let freePages: Int
    /// The level of its schema.
    package let level: Int
    /// How it was read: `shared`, `immutable` or `copy`.
    package let access: String
    /// The names of files that were set aside beside it.
    package let setAside: [String]
  }

  /// Entries that have something in common.
  package struct Group: Hashable, Sendable {
    /// What: a kind, or an age.
    package let name: String
    /// How many.
    package var count: Int
    /// Their bytes.
    package var byteCount: Int
  }

  /// An account.
  package struct Partition: Hashable, Sendable {
    /// Its name.
    package let name: String
    /// How many entries it has, as its row says.
    package var entries = 0
    /// Their bytes, as its row says.
    package var byteCount = 0
    /// How many pages of infinite queries and large values.
    package var pages = 0
    /// How many rows are in quarantine.
    package var quarantined = 0
    /// Their bytes.
    package var quarantinedByteCount = 0
    /// How many mutations wait, run, and are dead.
    package var mutations = OutboxCounts()
    /// How many mutations ended and are remembered.
    package var history = 0
    /// Their bytes.
    package var historyByteCount = 0
    /// Since when nothing is sent, microseconds since 1970; nil: all is sent.
    package var pausedAt: Int64?

    package init(name: String) { self.name = name }
  }

  /// What a partition may have, where its application has not said otherwise: a file does not tell.
  package struct Limits: Hashable, Sendable {
    /// Entries.
    package let entries: Int
    /// Their bytes.
    package let byteCount: Int
    /// Bytes of one value.
    package let valueByteCount: Int
    /// Rows in quarantine.
    package let quarantined: Int
    /// Their bytes.
    package let quarantinedByteCount: Int
  }

  /// The files that are there.
  package var files = [File]()
  /// The accounts, in the order of their names.
  package var partitions = [Partition]()
  /// Entries by kind, the largest first.
  package var kinds = [Group]()
  /// Entries by the age of their value, the youngest first; all ages, also those that no entry has.
  package var ages = [Group]()
  /// The largest entries, the largest first.
  package var largest = [InspectedEntry]()
  /// What a partition may have by default.
  package let limits: Limits

  init() {
    let configuration = SQLiteQueryStorage.Configuration()
    self.limits = Limits(
      entries: configuration.maximumEntries, byteCount: configuration.maximumBytes,
      valueByteCount: configuration.maximumValueBytes, quarantined: QuarantineRow.maximumRows,
      quarantinedByteCount: QuarantineRow.maximumBytes)
  }

  /// The ages that entries are counted by: their names, and their ends in seconds.
  package static let ageEnds: [(name: String, seconds: Int64)] = [
    ("< 1 min", 60), ("1-10 min", 600), ("10-60 min", 3_600), ("1-24 h", 86_400),
    ("1-7 d", 604_800), ("7-30 d", 2_592_000), (">= 30 d", .max / 1_000_000),
  ]
}
