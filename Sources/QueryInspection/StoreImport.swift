import FoundationEssentials
import Glibc
import Query
import QuerySQLite

/// Reads an export into a store.
struct StoreImport {
  let maintenance: StoreMaintenance
  let reader: ExportReader
  let partition: String
  let withOutbox: Bool

  /// What was written.
  private(set) var imported = StoreMaintenance.Imported()

  /// The limits of one transaction, in entries and in bytes.
  private static let entriesPerWrite = 500
  private static let bytesPerWrite = 4 << 20

  init(
    _ maintenance: StoreMaintenance, _ reader: ExportReader, partition: String, withOutbox: Bool
  ) {
    self.maintenance = maintenance
    self.reader = reader
    self.partition = partition.asAccountName
    self.withOutbox = withOutbox
  }

  /// Writes the mutations first, which can be refused, and then the values, which can be written
  /// again.
  mutating func run() throws {
    try self.importMutations()
    try self.importEntries()
  }

  // MARK: - Values

  private mutating func importEntries() throws {
    var imported = self.imported
    try self.maintenance.withWriter(.cache, makes: true) { connection in
      // So that an export without entries makes the account, too.
      _ = try CacheTables(partitionNamed: self.partition, on: connection)
      var waiting = [ImportedEntry]()
      var bytes = 0
      func write() throws {
        var rest = waiting[...]
        while !rest.isEmpty {
          var count = 0
          try self.maintenance.write(account: self.partition, on: connection) { changes in
            let budget = StepBudget(rows: Self.entriesPerWrite, time: StepBudget.callersTime)
            for entry in rest where !budget.isSpent(after: count) {
              try changes.write(imported: entry)
              count += 1
            }
          }
          rest = rest.dropFirst(count)
          connection.letOthersWrite()
        }
        imported.entries += waiting.count
        (waiting, bytes) = ([], 0)
      }
      try self.reader.forEachItem { item in
        guard case .entry(let entry) = item else { return }
        waiting.append(entry)
        bytes += Int(entry.row.byteCount)
        if waiting.count >= Self.entriesPerWrite || bytes > Self.bytesPerWrite { try write() }
      }
      try write()
    }
    self.imported = imported
  }

  // MARK: - Mutations

  private mutating func importMutations() throws {
    var items = 0
    try self.reader.forEachItem { item in
      if case .row = item { items += 1 }
    }
    if items == 0 && !self.withOutbox { return }
    var imported = self.imported
    try self.maintenance.withWriter(.mutations, makes: true) { connection in
      // Erased rows may have the same identifiers and numbers. They are deleted one after the
      // other, as by the library, whose connection does not enforce the references.
      try connection.pragma("PRAGMA foreign_keys = 0")
      let erased = ErasedMutations(on: connection)
      try Erasure(connection: connection, deleteRows: erased.delete) {}.deleteLeftRows()
      try connection.pragma("PRAGMA foreign_keys = 1")
      imported.ended = try self.importEnded(on: connection)
      if !self.withOutbox { return }
      let files = ImportedMutations.HeldFiles()
      defer { withExtendedLifetime(files) {} }
      try connection.write {
        var rows = try ImportedMutations(self, holding: files, on: connection)
        try self.reader.forEachItem { try rows.addUnended($0) }
        try rows.finish()
        (imported.mutations, imported.arePaused) = (rows.mutations, rows.arePaused)
      }
    }
    self.imported = imported
  }

  /// Writes the ended mutations, some in each transaction: a person whose import was killed runs it
  /// again, since each mutation is known by its identifier.
  ///
  /// - Returns: How many.
  private func importEnded(on connection: SQLiteConnection) throws -> Int {
    var (count, bytes) = (0, 0)
    var waiting = [ExportReader.Item]()
    func write() throws {
      var rest = waiting[...]
      // Even if there are none: then it only checks whether the outbox may have others.
      repeat {
        try connection.write {
          let budget = StepBudget(rows: Self.entriesPerWrite, time: StepBudget.callersTime)
          var rows = try ImportedMutations(self, on: connection)
          var done = 0
          for item in rest where !budget.isSpent(after: done) {
            try rows.addEnded(item)
            done += 1
          }
          rest = rest.dropFirst(done)
          try rows.finishEnded()
          count += rows.ended
        }
        if !rest.isEmpty { connection.letOthersWrite() }
      } while !rest.isEmpty
      (waiting, bytes) = ([], 0)
    }
    var isInOutbox = false
    try self.reader.forEachItem { item in
      if case .outbox = item { isInOutbox = true }
      // What belongs to live and dead mutations follows them.
      guard !isInOutbox, case .row(let table, _, let line) = item else { return }
      waiting.append(item)
      bytes += table.kind == .ended ? Int(clamping: line.integer("byteCount") ?? 0) : 0
      if waiting.count >= Self.entriesPerWrite || bytes > Self.bytesPerWrite { try write() }
    }
    try write()
    return count
  }
}

extension CacheChanges {
  /// Writes an entry, and replaces the one with its identity.
  fileprivate mutating func write(imported entry: ImportedEntry) throws {
    let place = try self.connection.first(
      EntryRow.readPlace, self.partition, entry.row.identity
    ) { (id: try $0.integer(at: 0), bytes: Int(try $0.amount(at: 1))) }
    if let place { try self.removeRow(place.id, bytes: place.bytes, isLost: false) }
    var row = entry.row
    row.partition = self.partition
    self.count(entries: 1, bytes: Int(row.byteCount))
    self.stamp(&row)
    try row.insert(into: self.connection)
    let id = try self.connection.lastInsertedID
    for page in entry.pages {
      var page = page
      page.entry = id
      try page.write(to: self.connection)
    }
  }
}

// MARK: - For people

extension StoreMaintenance {
  /// What an import has written.
  package struct Imported: Hashable, Sendable {
    /// How many entries.
    package var entries = 0
    /// How many ended mutations. Those that the store has already are not counted.
    package var ended = 0
    /// How many live and dead mutations.
    package var mutations = 0
    /// Whether some of those are not sent because they were paused where they come from.
    package var arePaused = false
    /// The account of the export, and the one that it was written into.
    package var (source, account) = ("", "")
  }

  /// Reads an export into an account. All of it is checked before anything is written. Entries
  /// replace those with the same identity; ended mutations that the store has already stay as they
  /// are.
  ///
  /// - Parameters:
  ///   - path: The path of the export, a file.
  ///   - partition: The account; nil: that of the export. It is created if it is missing.
  ///   - withOutbox: Whether live and dead mutations are imported, for which the outbox must be
  ///     empty: the store that they come from must not send them too.
  /// - Throws: `InspectionError`: bad export; outbox not empty, or of another account, in whose name its
  ///   mutations would be sent; what writing throws.
  package func importExport(
    at path: String, into partition: String? = nil, withOutbox: Bool = false
  ) throws -> Imported {
    let reader = ExportReader(path: path)
    let header = try reader.verify()
    if withOutbox && header.integer("hasOutbox") == 0 {
      throw InspectionError.badExport(line: 1, "says that it has no outbox")
    }
    let source = (header.text("partition") ?? "").asAccountName
    var work = StoreImport(
      self, reader, partition: partition ?? source, withOutbox: withOutbox)
    if withOutbox && work.partition != source {
      throw InspectionError.otherAccount(of: source, asked: work.partition)
    }
    try work.run()
    var imported = work.imported
    (imported.source, imported.account) = (source, work.partition)
    return imported
  }
}
