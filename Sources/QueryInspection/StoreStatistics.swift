package import Query
import QuerySQLite

/// The statistics of a store.
package struct StoreStatistics: Hashable, Sendable {
  /// A database file.
  package struct File: Hashable, Sendable {
    /// Its name, without the folder.
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
    /// How many of them are free.
    package let freePages: Int
    /// The level of its schema.
    package let level: Int
    /// How it was read: `shared`, `immutable` or `copy`.
    package let access: String
    /// The names of files that were set aside beside it.
    package let setAside: [String]
  }

  /// Entries of one group.
  package struct Group: Hashable, Sendable {
    /// The name of the group: a kind, or an age.
    package let name: String
    /// How many entries.
    package var count: Int
    /// Their bytes.
    package var byteCount: Int
  }

  /// The files of mutations, in `bodies/`.
  package var bodies = Group(name: "bodies", count: 0, byteCount: 0)

  /// An account.
  package struct Partition: Hashable, Sendable {
    /// Its name.
    package let name: String
    /// How many entries it has, according to its row.
    package var entries = 0
    /// Their bytes, according to its row.
    package var byteCount = 0
    /// How many pages infinite queries have.
    package var pages = 0
    /// How many rows are in quarantine.
    package var quarantined = 0
    /// Their bytes.
    package var quarantinedByteCount = 0
    /// The packs, by their names.
    package var packs = [StoredPack]()
    /// How many mutations are pending, running and dead.
    package var mutations = OutboxCounts()
    /// How many ended mutations are remembered.
    package var history = 0
    /// Their bytes.
    package var historyByteCount = 0
    /// When sending was paused, microseconds since 1970; nil: it is not paused.
    package var pausedAt: Int64?

    package init(name: String) { self.name = name }
  }

  /// The limits of a partition, unless its application sets others: a file does not tell.
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

  /// The existing files.
  package var files = [File]()
  /// The accounts, sorted by name.
  package var partitions = [Partition]()
  /// Entries by kind, the largest first.
  package var kinds = [Group]()
  /// Entries by the age of their value, the youngest first; all ages, even those without entries.
  package var ages = [Group]()
  /// The largest entries, the largest first.
  package var largest = [InspectedEntry]()
  /// The default limits of a partition.
  package let limits: Limits

  init() {
    let configuration = SQLiteQueryStorage.Configuration()
    self.limits = Limits(
      entries: configuration.maximumEntries, byteCount: configuration.maximumBytes,
      valueByteCount: configuration.maximumValueBytes, quarantined: QuarantineRow.maximumRows,
      quarantinedByteCount: QuarantineRow.maximumBytes)
  }

  /// The ages by which entries are counted: their names, and their ends in seconds.
  package static let ageEnds: [(name: String, seconds: Int64)] = [
    ("< 1 min", 60), ("1-10 min", 600), ("10-60 min", 3_600), ("1-24 h", 86_400),
    ("1-7 d", 604_800), ("7-30 d", 2_592_000), (">= 30 d", .max / 1_000_000),
  ]
}
