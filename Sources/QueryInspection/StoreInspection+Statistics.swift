import FoundationEssentials
import Query
import QuerySQLite

// MARK: - Statistics

extension StoreInspection {
  private static let cachePartitions = SQL(
    assembling: """
      SELECT p.name, \(PartitionRow.totals),
        (SELECT count(*) FROM quarantine AS q WHERE q.partition = p.id),
        (SELECT coalesce(sum(q.byte_count), 0) FROM quarantine AS q WHERE q.partition = p.id),
        p.id
      FROM \(PartitionRow.withNewest) WHERE substr(p.name, 1, 7) <> 'erased:' ORDER BY p.name
      """)

  /// Partition. The parts of a large value are rows of `pages` too, and nobody's pages.
  private static let countPages: SQL = """
    SELECT count(*) FROM entries AS e NOT INDEXED JOIN pages AS p ON p.entry = e.id
    WHERE e.partition = ? AND e.kind = 'infinite'
    """

  /// Partition or NULL, now: kind, age by ``StoreStatistics/ageEnds``, count, bytes.
  private static let groups = SQL(
    assembling: """
      SELECT e.kind, coalesce(?2 - \(ConfirmationRow.updatedAt), -1), e.byte_count
      FROM entries AS e NOT INDEXED \(ConfirmationRow.ofEntry)
      WHERE (?1 IS NULL OR e.partition = ?1)
        AND e.partition NOT IN (SELECT id FROM partitions WHERE is_erasing = 2)
      """)

  /// Adds up what is in the store.
  ///
  /// - Parameters:
  ///   - partition: The account; nil: all.
  ///   - now: The time that ages are counted from, microseconds since 1970.
  ///   - largest: How many of the largest entries are named.
  /// - Throws: `InspectionError`.
  /// - Complexity: O(*n*) in the number of entries.
  package func statistics(
    in partition: String? = nil, now: Int64, largest: Int = 10
  ) throws(InspectionError) -> StoreStatistics {
    try self.require(partition: partition)
    var statistics = StoreStatistics()
    var partitions = [String: StoreStatistics.Partition]()
    for kind in DatabaseKind.allCases {
      let found = try self.readIfThere(kind) { connection in
        (
          file: try self.file(kind).statistics(on: connection),
          partitions: try kind == .cache
            ? Self.cachePartitions(on: connection) : Self.mutationPartitions(on: connection)
        )
      }
      guard let found else { continue }
      statistics.files.append(found.file)
      for new in found.partitions where partition == nil || new.name == partition {
        partitions[new.name] = partitions[new.name].map { $0.merged(with: new) } ?? new
      }
    }
    statistics.partitions = partitions.values.sorted { $0.name < $1.name }
    let groups = try self.readIfThere(.cache) { connection in
      try Self.groups(in: partition, now, on: connection)
    }
    (statistics.kinds, statistics.ages) = groups ?? ([], [])
    statistics.bodies = self.bodies
    do {
      try self.entries(EntryQuery(partition: partition, sort: .size, limit: largest)) {
        statistics.largest.append($0)
      }
    } catch {
      throw InspectionError(any: error, operation: "read")
    }
    return statistics
  }

  private var bodies: StoreStatistics.Group {
    let folder = BodyFolder(besideOutboxIn: self.file(.mutations).folder)
    let sizes = folder.names.compactMap { FileState(of: "\(folder.path)/\($0)").databaseSize }
    return StoreStatistics.Group(
      name: "bodies", count: sizes.count, byteCount: sizes.reduce(0, +))
  }

  private static func cachePartitions(
    on connection: SQLiteConnection
  ) throws -> [StoreStatistics.Partition] {
    try connection.rows(Self.cachePartitions) { row in
      var partition = StoreStatistics.Partition(name: try row.text(at: 0))
      partition.entries = Int(try row.integer(at: 1))
      partition.byteCount = Int(try row.integer(at: 2))
      partition.quarantined = Int(try row.integer(at: 3))
      partition.quarantinedByteCount = Int(try row.integer(at: 4))
      let pages = try connection.first(Self.countPages, try row.integer(at: 5)) {
        try $0.integer(at: 0)
      }
      partition.pages = Int(pages ?? 0)
      partition.packs = try PackTables(partition: row.integer(at: 5), on: connection).packs()
      return partition
    }
  }

  private static func mutationPartitions(
    on connection: SQLiteConnection
  ) throws -> [StoreStatistics.Partition] {
    try Self.partitions(on: connection).map { _, name in
      var partition = StoreStatistics.Partition(name: name)
      guard let row = try Self.tables(name, on: connection).partition else { return partition }
      partition.mutations = row.counts
      partition.history = Int(row.historyCount)
      partition.historyByteCount = Int(row.historyBytes)
      partition.pausedAt = row.pausedAt
      return partition
    }
  }

  private static func groups(
    in partition: String?, _ now: Int64, on connection: SQLiteConnection
  ) throws -> (kinds: [StoreStatistics.Group], ages: [StoreStatistics.Group]) {
    let id = try Self.partitions(partition, on: connection).first?.id
    if partition != nil && id == nil { return ([], []) }
    var kinds = [String: StoreStatistics.Group]()
    var ages = StoreStatistics.ageEnds.map {
      StoreStatistics.Group(name: $0.name, count: 0, byteCount: 0)
    }
    try connection.withStatement(Self.groups) { row in
      try row.bindAll(partition == nil ? nil : id, now)
      while try row.step() {
        let (kind, bytes) = (try row.text(at: 0), Int(try row.integer(at: 2)))
        kinds[kind, default: StoreStatistics.Group(name: kind, count: 0, byteCount: 0)]
          .add(bytes)
        let age = try row.integer(at: 1)
        // A negative age is that of an entry without a value, or comes from a clock that jumped.
        if age < 0 { continue }
        let place = StoreStatistics.ageEnds.firstIndex { age / 1_000_000 < $0.seconds }
        ages[place ?? ages.count - 1].add(bytes)
      }
    }
    return (kinds.values.sorted { ($1.byteCount, $0.name) < ($0.byteCount, $1.name) }, ages)
  }
}

extension StoreStatistics.Group {
  /// Counts an entry. Impossible numbers in a damaged file do not trap.
  fileprivate mutating func add(_ bytes: Int) {
    self.count += 1
    self.byteCount = Int(Int64(self.byteCount).clampedSum(Int64(bytes)))
  }
}

extension StoreStatistics.Partition {
  /// Merges what the two files know of one account.
  fileprivate func merged(with other: Self) -> Self {
    var merged = other
    merged.entries = self.entries
    merged.byteCount = self.byteCount
    merged.pages = self.pages
    merged.packs = self.packs
    merged.quarantined = self.quarantined
    merged.quarantinedByteCount = self.quarantinedByteCount
    return merged
  }
}

extension InspectionFile {
  /// Reads the file's size, pages and level.
  func statistics(on connection: SQLiteConnection) throws -> StoreStatistics.File {
    func number(_ sql: SQL) throws -> Int {
      Int(try connection.first(sql) { try $0.integer(at: 0) } ?? 0)
    }
    let state = FileState(of: self.path)
    let names = (try? SetAside(kind: self.kind, folder: self.folder).names()) ?? []
    return StoreStatistics.File(
      name: self.kind.fileName, folder: self.folder, byteCount: state.databaseSize ?? 0,
      logByteCount: state.logSize, pageSize: try number("PRAGMA page_size"),
      pages: try number("PRAGMA page_count"), freePages: try number("PRAGMA freelist_count"),
      level: try number("PRAGMA user_version"), access: self.access?.rawValue ?? "",
      setAside: names.sorted().map { $0.fileName(of: self.kind) })
  }
}
