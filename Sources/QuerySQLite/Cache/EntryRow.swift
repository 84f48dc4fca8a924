package import FoundationEssentials
package import Query

/// The row of one query in `cache.sqlite`: an entry is stored as one, and read from it. Dates are
/// microseconds since 1970.
package struct EntryRow: Equatable {
  /// The row's number; 0 before it is inserted.
  var id: Int64 = 0
  package var partition: Int64
  package var hash: XXH128
  package var identity: String
  /// The number that the partition's counter gave to the last write of this row.
  package var revision: Int64
  /// Entries and bytes of the partition after that write.
  var totalEntries: Int64 = 0
  var totalBytes: Int64 = 0
  package var kind: String
  package var coder: String
  package var valueVersion: Int64
  package var valueUpdatedAt: Int64?
  package var valueUpdateCount: Int64 = 0
  package var errorUpdatedAt: Int64?
  package var errorUpdateCount: Int64 = 0
  package var errorType: String?
  package var errorText: String?
  /// When it was last invalidated, in microseconds since the start of the machine, at least 1; negative: its
  /// value was asked for after that, and is not invalidated; 0: it never was.
  package var invalidatedAt: Int64 = 0
  package var isPinned = false
  package var expiresAt: Int64?
  /// The number of the last use; nil: it was not used since it was inserted.
  package var lastUse: Int64?
  /// Bytes of the identity's text, the error, the value and the pages.
  package var byteCount: Int64
  /// Over the value, or as ``XXH128/init(pages:next:previous:)`` defines it.
  package var checksum: XXH128?
  package var nextPageID: Data?
  package var previousPageID: Data?
  package var value: Data?
  /// What the request finds again with the value.
  package var metadata: Data?
  /// How old the value may be before it is stale, in microseconds.
  package var freshFor: Int64?
  /// How much of the outbox's history the value has.
  package var outboxSequence: Int64?
  /// The keys of mutations that it includes, in order, a line each; empty: none; nil: its server has said
  /// nothing.
  package var includedKeys: String?
  /// Over the value alone; no column.
  private(set) var contentHash = NotStored()

  /// The hash that ``checksum`` covers, of a row that is about to be written.
  struct NotStored: Equatable {
    var hash: XXH128?

    static func == (one: Self, other: Self) -> Bool { true }
  }
}

// MARK: - From an entry

extension EntryRow {
  /// Makes the row of an identity, without a value, in no partition yet.
  package init(identity: String, kind: String, coder: String, valueVersion: Int64) {
    self.init(
      partition: 0, hash: XXH128(hashing: identity), identity: identity, revision: 0, kind: kind,
      coder: coder, valueVersion: valueVersion, byteCount: 0)
  }

  /// Makes the row of an entry, without number, revision and use.
  ///
  /// - Parameters:
  ///   - entry: The entry.
  ///   - identity: The identity under which it is stored.
  ///   - hash: The hash of the identity's text.
  ///   - partition: The number of the partition.
  ///   - pages: The checksums of its pages, if it has any.
  init(
    _ entry: StoredEntry,
    identity: QueryIdentity,
    hash: XXH128,
    partition: Int64,
    pages: [XXH128]
  ) {
    let history = entry.history
    let errorBytes = history.error.map { $0.typeName.utf8.count + $0.text.utf8.count } ?? 0
    self.init(
      partition: partition,
      hash: hash,
      identity: identity.text,
      revision: 0,
      kind: entry.kind,
      coder: entry.coder,
      valueVersion: Int64(entry.version),
      valueUpdatedAt: history.valueLastUpdatedAt?.microsecondsSince1970,
      valueUpdateCount: Int64(history.valueUpdateCount),
      errorUpdatedAt: history.errorLastUpdatedAt?.microsecondsSince1970,
      errorUpdateCount: Int64(history.errorUpdateCount),
      errorType: history.error?.typeName,
      errorText: history.error?.text,
      invalidatedAt: history.lastInvalidation.microseconds,
      isPinned: entry.isPinned,
      expiresAt: entry.expiresAt?.microsecondsSince1970,
      byteCount: Int64(
        identity.text.utf8.count + errorBytes + entry.contentSize + (entry.metadata?.count ?? 0)),
      metadata: entry.metadata,
      freshFor: entry.freshFor?.microseconds
    )
    self.outboxSequence = entry.outboxSequence
    self.includedKeys = entry.includedKeys?.sorted().joined(separator: "\n")
    self.setContent(entry.content, pages)
    self.cover()
  }

  /// Makes the row of a value that is known to be stored, or of none, as
  /// ``init(_:identity:hash:partition:pages:)``.
  ///
  /// - Parameter confirmation: What is said of the value; nil is returned if its mark is none of ours.
  init?(
    _ confirmation: StoredConfirmation, identity: QueryIdentity, partition: Int64
  ) {
    self.init(
      confirmation.entry, identity: identity, hash: XXH128(hashing: identity.text),
      partition: partition, pages: [])
    guard let mark = confirmation.content else { return }
    guard let hash = mark.hash.withUnsafeBytes({ XXH128(bytes: $0) }) else { return nil }
    self.byteCount += Int64(mark.byteCount)
    (self.nextPageID, self.previousPageID) = (mark.next, mark.previous)
    self.checksum = hash
    self.metadata = confirmation.entry.metadata
    self.cover()
  }

  /// Lets the checksum cover the metadata. Called once.
  private mutating func cover() {
    self.contentHash.hash = self.checksum
    if self.checksum == nil { self.metadata = nil }
    self.checksum = self.checksum?.covering(self.metadata)
  }

  private mutating func setContent(_ content: StoredEntry.Content, _ pages: [XXH128]) {
    switch content {
    case .none: break
    case .value(let value):
      self.value = value
      self.checksum = XXH128(hashing: value)
    case .pages(_, let next, let previous):
      self.nextPageID = next
      self.previousPageID = previous
      self.checksum = XXH128(pages: pages, next: next, previous: previous)
    }
  }
}

// MARK: - Written

extension CacheChanges {
  /// Gives a row that is about to be written the next number, and the totals after it.
  package mutating func stamp(_ row: inout EntryRow) {
    row.revision = self.nextRevision()
    row.totalEntries = Int64(self.totals.entries)
    row.totalBytes = Int64(self.totals.bytes)
  }
}

extension EntryRow {
  /// Inserts the row. The partition's counts are written separately.
  ///
  /// - Throws: `StorageError`.
  package func insert(into connection: SQLiteConnection) throws(StorageError) {
    try connection.execute(Self.insert) { values throws(StorageError) in
      try self.bindState(to: &values)
      try self.bindValue(to: &values)
      try values.bind(self.partition)
      try values.bind(self.hash)
      try values.bind(self.identity)
      try values.bind(self.lastUse)
    }
  }

  /// Writes all columns but identity and use into the row with this ``id``.
  ///
  /// - Throws: `StorageError`.
  func update(in connection: SQLiteConnection) throws(StorageError) {
    try connection.execute(Self.update) { values throws(StorageError) in
      try self.bindState(to: &values)
      try self.bindValue(to: &values)
      try values.bind(self.id)
    }
  }

  /// Writes the columns beside the value into the row with this ``id``.
  ///
  /// - Throws: `StorageError`.
  func updateState(in connection: SQLiteConnection) throws(StorageError) {
    try connection.execute(Self.updateState) { values throws(StorageError) in
      try self.bindState(to: &values)
      try values.bind(self.id)
    }
  }

  private func bindState(to values: inout ValueBinder) throws(StorageError) {
    try values.bind(self.revision)
    try values.bind(self.totalEntries)
    try values.bind(self.totalBytes)
    try values.bind(self.valueUpdatedAt)
    try values.bind(self.valueUpdateCount)
    try values.bind(self.errorUpdatedAt)
    try values.bind(self.errorUpdateCount)
    try values.bind(self.errorType)
    try values.bind(self.errorText)
    try values.bind(self.invalidatedAt)
    try values.bind(self.isPinned)
    try values.bind(self.expiresAt)
    try values.bind(self.byteCount)
    try values.bind(self.checksum)
    try values.bind(self.nextPageID)
    try values.bind(self.previousPageID)
    try values.bind(self.metadata)
    try values.bind(self.freshFor)
    try values.bind(self.outboxSequence)
    try values.bind(self.includedKeys)
  }

  private func bindValue(to values: inout ValueBinder) throws(StorageError) {
    try values.bind(self.kind)
    try values.bind(self.coder)
    try values.bind(self.valueVersion)
    try values.bind(self.value)
  }
}

// MARK: - Read

extension CacheTables {
  /// The content of one row.
  private enum Found {
    case reading(CacheReading)
    /// The value is in pages, which are not read yet.
    case pages(StoredEntry, EntryHeader)
  }

  /// Reads an entry. One statement for a plain query; two if the value is in pages, which then see
  /// the same state: inside the open transaction, or one of its own.
  ///
  /// - Parameters:
  ///   - identity: The identity.
  ///   - limit: Entries with more bytes are ``CacheReading/large(byteCount:)``.
  /// - Throws: `StorageError`.
  /// - Complexity: O(*n*) in the bytes of the value.
  func read(_ identity: QueryIdentity, limit: Int = .max) throws -> CacheReading {
    let found = try self.connection.first(EntryRow.read, limit, self.partition, identity.text) {
      try Self.found($0, identity, limit)
    }
    // Consumed, here and by all who pass it on: to copy and destroy an entry takes longer than to lock.
    switch consume found {
    case nil: return .absent
    case .reading(let reading): return reading
    case .pages(let entry, let header):
      if self.connection.transaction == .none {
        // The pages may meanwhile belong to another state.
        return try self.connection.read { try self.read(identity, limit: limit) }
      }
      return try self.readPages(of: entry, header)
    }
  }

  /// Reads the entry of a row of ``EntryRow/readRange``, in a transaction.
  func read(_ row: SQLiteStatement, of identity: QueryIdentity) throws -> CacheReading {
    switch try Self.found(row, identity, .max) {
    case .reading(let reading): reading
    case .pages(let entry, let header): try self.readPages(of: entry, header)
    }
  }

  private static func found(
    _ row: SQLiteStatement, _ identity: QueryIdentity, _ limit: Int
  ) throws -> Found {
    guard (try? row.hash(at: 2)) == XXH128(hashing: identity.text) else {
      return .reading(.wrongChecksum(revision: row.rawInteger(at: 1)))
    }
    do {
      return try self.soundlyFound(row, limit)
    } catch let error as StorageError where error.code == .mismatch {
      // No release has written this row. The others may be intact.
      return .reading(.wrongChecksum(revision: row.rawInteger(at: 1)))
    }
  }

  private static func soundlyFound(_ row: SQLiteStatement, _ limit: Int) throws -> Found {
    let byteCount = Int(try row.amount(at: 3))
    if byteCount > limit { return .reading(.large(byteCount: byteCount)) }
    let revision = try row.amount(at: 1)
    let checksum = row.isNull(at: 4) ? nil : try row.hash(at: 4)
    let value = try self.value(of: row)
    let metadata = try row.optionalData(at: 21)
    switch (checksum, value) {
    case (nil, nil) where metadata == nil:
      return .reading(.entry(try self.entry(of: row, .none, revision)))
    case (let checksum?, let (hash, data)?) where checksum == hash.covering(metadata):
      let mark = StoredContentMark(hash, byteCount: data.count)
      return .reading(.entry(try self.entry(of: row, .value(data), revision, metadata, mark)))
    case (let checksum?, nil):
      let header = EntryHeader(
        id: try row.integer(at: 0), checksum: checksum, next: try row.optionalData(at: 17),
        previous: try row.optionalData(at: 18), metadata: metadata)
      return .pages(try self.entry(of: row, .none, revision), header)
    default: return .reading(.wrongChecksum(revision: revision))
    }
  }

  /// The value and its hash, which is computed in SQLite's memory.
  private static func value(of row: SQLiteStatement) throws -> (hash: XXH128, data: Data)? {
    if row.isNull(at: 19) { return nil }
    return try row.withBytes(at: 19) { (XXH128(hashing: $0), Data($0)) }
  }

  private static func entry(
    of row: SQLiteStatement,
    _ content: StoredEntry.Content,
    _ revision: Int64,
    _ metadata: Data? = nil,
    _ mark: StoredContentMark? = nil
  ) throws -> StoredEntry {
    var entry = StoredEntry(
      kind: try row.text(at: 5),
      coder: try row.text(at: 6),
      version: Int(try row.integer(at: 7)),
      content: content,
      history: UpdateHistory(
        valueUpdateCount: Int(try row.amount(at: 9)),
        valueLastUpdatedAt: try row.optionalDate(at: 8),
        error: try row.isNull(at: 15)
          ? nil
          : RestoredError(
            typeName: row.text(at: 15), text: row.optionalText(at: 16) ?? ""),
        errorUpdateCount: Int(try row.amount(at: 11)),
        errorLastUpdatedAt: try row.optionalDate(at: 10)
      ),
      isPinned: try row.bool(at: 13),
      expiresAt: try row.optionalDate(at: 14)
    )
    entry.history.lastInvalidation = try row.lastInvalidation(at: 12)
    entry.freshFor = try row.isNull(at: 22) ? nil : .microseconds(row.amount(at: 22))
    entry.outboxSequence = row.isNull(at: 23) ? nil : try row.integer(at: 23)
    if let keys = try row.optionalText(at: 24) {
      entry.includedKeys = Set(keys.split(separator: "\n").map(String.init))
    }
    entry.revision = try row.isNull(at: 25) ? revision : row.amount(at: 25)
    (entry.metadata, entry.contentMark) = (metadata, mark)
    return entry
  }
}

extension SQLiteStatement {
  /// A date, or nil for a NULL.
  fileprivate func optionalDate(at index: Int32) throws(StorageError) -> Date? {
    self.isNull(at: index) ? nil : Date(microsecondsSince1970: try self.integer(at: index))
  }
}
