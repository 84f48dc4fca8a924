import FoundationEssentials
import Glibc
import Query
import QuerySQLite

/// Writes mutations of an export, in one transaction: some of the ended ones, or all of the others,
/// since no process may send some of those before all are there.
struct ImportedMutations {
  /// How many ended mutations were written.
  private(set) var ended = 0
  /// How many live or dead mutations were written.
  private(set) var mutations = 0
  /// Whether some of them are not sent because they were paused where they come from.
  private(set) var arePaused = false

  private let connection: SQLiteConnection
  private let folder: String
  private let withOutbox: Bool
  private let partition: Int64
  private var isInOutbox = false
  private var newestNumber: Int64 = 0
  /// The imported rows of mutations that have ended here, as after an earlier import.
  private var endedHere = [(number: Int64, outcome: String)]()
  private let now = OutboxClock.systemWithSync.now()
  private let files: HeldFiles

  /// The files of mutations, locked until these are committed: a process that cleans up would take
  /// them for left ones.
  final class HeldFiles {
    fileprivate var handles = [HeldFile]()
  }

  /// Begins, in a write transaction.
  ///
  /// - Throws: `InspectionError` (outbox not empty); `StorageError`.
  init(
    _ work: StoreImport, holding files: HeldFiles = HeldFiles(), on connection: SQLiteConnection
  ) throws {
    self.connection = connection
    self.files = files
    self.folder = work.maintenance.locations.folder(of: .mutations)
    self.withOutbox = work.withOutbox
    if work.withOutbox {
      let count = try connection.first(Self.count) { try $0.integer(at: 0) } ?? 0
      if count > 0 { throw InspectionError.outboxNotEmpty(count: Int(count)) }
    }
    var found = try OutboxPartitionRow.find(work.partition, on: connection)
    if found == nil {
      try connection.execute(OutboxPartitionRow.insert, work.partition)
      found = try OutboxPartitionRow.find(work.partition, on: connection)
    }
    guard var row = found else {
      throw StorageError(
        operation: "read partition", code: .corrupt, message: "the row of the partition is missing",
        fileName: connection.fileName)
    }
    if !row.isNamed {
      row.isNamed = true
      try row.saveName(work.partition, on: connection)
    }
    self.partition = row.id
  }

  /// Of all accounts: they share one sequence of numbers.
  private static let count: SQL = """
    SELECT count(*) FROM outbox
    WHERE partition NOT IN (SELECT id FROM partitions WHERE is_erasing = 2)
    """

  /// Writes what belongs to ended mutations.
  ///
  /// - Throws: `StorageError`.
  mutating func addEnded(_ item: ExportReader.Item) throws {
    guard case .row(let table, let values, _) = item else { return }
    try table.insert(values, partition: self.partition, on: self.connection)
    if table.kind == .ended { self.ended += try self.connection.changes }
  }

  /// Writes what belongs to live and dead mutations, given all items of the export one by one.
  ///
  /// - Throws: `StorageError`.
  mutating func addUnended(_ item: ExportReader.Item) throws {
    switch item {
    case .header, .entry: break
    case .outbox(let line):
      self.isInOutbox = true
      try self.set(line)
    case .body(let name, let part, let data):
      if part == 0 { try self.makeFile(name) }
      try self.append(data, to: name)
    case .row(let table, let values, let line):
      if table.kind == .ended {
        self.newestNumber = max(self.newestNumber, line.integer("number") ?? 0)
      }
      if !self.isInOutbox { return }
      try table.insert(values, partition: self.partition, on: self.connection)
      switch table.kind {
      case .mutation:
        let number = line.integer("number") ?? 0
        try self.sealImported(number)
        self.mutations += 1
        self.newestNumber = max(self.newestNumber, number)
        if let outcome = try self.connection.first(
          Self.outcome, number, read: { try $0.text(at: 0) })
        {
          self.endedHere.append((number, outcome))
        }
      case .pause: self.arePaused = true
      default: break
      }
    }
  }

  private static let setChecksum: SQL = "UPDATE outbox SET checksum = ? WHERE number = ?"

  /// Adds this account to the checksum of a row: in an export the checksum is for an account
  /// without a number.
  private func sealImported(_ number: Int64) throws {
    guard let row = try self.connection.first(OutboxRow.read, number, read: OutboxRow.init) else {
      return
    }
    try self.connection.execute(
      Self.setChecksum, row.checksum.adding(row.partition, as: .account), row.number)
  }

  private static let setStanding: SQL = """
    UPDATE partitions SET paused_at = ?, credentials_epoch = ? WHERE id = ?
    """

  private mutating func set(_ line: ExportLine) throws {
    if line.integer("pausedAt") != nil { self.arePaused = true }
    try self.connection.execute(
      Self.setStanding, line.integer("pausedAt"), line.integer("credentialsEpoch") ?? 0,
      self.partition)
    if let date = line.integer("synchronisedAt") {
      try self.connection.execute(ClockRow.setSynchronised, date)
    }
    self.newestNumber = max(self.newestNumber, line.integer("newestNumber") ?? 0)
  }

  /// Makes the body file of a mutation, empty. A file of that name goes: it is not this outbox's, which
  /// is empty.
  private func makeFile(_ name: String) throws {
    let folder = "\(self.folder)/bodies"
    try DatabaseFiles.system.makeFolder(folder)
    let path = "\(folder)/\(name)"
    while true {
      // Bytes: a body file.
      unlink(path)
      let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else {
        throw StorageError(errno: errno, operation: "make the file", path: path)
      }
      let file = HeldFile(descriptor)
      while flock(descriptor, LOCK_EX) != 0 && errno == EINTR {}
      var status = stat()
      // Else it was taken for a left one before it was locked.
      if fstat(descriptor, &status) != 0 || status.st_nlink > 0 {
        self.files.handles.append(file)
        return
      }
    }
  }

  /// Writes the next bytes of the file that was made last.
  private func append(_ data: Data, to name: String) throws {
    do {
      try self.files.handles.last?.write(data)
      try self.files.handles.last?.synchronise()
      DatabaseFiles.system.synchronise(folder: "\(self.folder)/bodies")
    } catch {
      throw StorageError(
        operation: "write", code: .inputOutput, message: "\(error)", fileName: name)
    }
  }
}

// MARK: - What is derived

extension ImportedMutations {
  private static let live: SQL = "SELECT number FROM outbox WHERE partition = ? ORDER BY number"

  /// Computes the totals.
  ///
  /// - Throws: `StorageError`.
  func finishEnded() throws {
    try DerivedRows(connection: self.connection, now: self.now).countRows(of: self.partition)
  }

  /// Number: how it has ended here before.
  private static let outcome: SQL = """
    SELECT outcome FROM history WHERE id = (SELECT id FROM outbox WHERE number = ?1)
    UNION ALL SELECT outcome FROM forgotten WHERE id = (SELECT id FROM outbox WHERE number = ?1)
    """

  /// Target.
  private static let dependants: SQL = "SELECT dependant FROM dependencies WHERE target = ?"
  private static let deleteDependencies: SQL =
    "DELETE FROM dependencies WHERE target = ?1 OR dependant = ?1"
  private static let delete: SQL = "DELETE FROM outbox WHERE number = ?"

  /// Removes what has ended here before: it is not sent again. What depends on it goes on, or is dead.
  private mutating func removeEnded() throws {
    for (number, outcome) in self.endedHere {
      let dependants = try self.connection.rows(Self.dependants, number) { try $0.integer(at: 0) }
      for dependant in dependants where !["succeeded", "superseded"].contains(outcome) {
        let found = try self.connection.first(OutboxRow.read, dependant, read: OutboxRow.init)
        guard var row = found, row.standing.state == .pending else { continue }
        row.standing.kill(.dependency)
        try row.saveStanding(on: self.connection)
      }
      try self.connection.execute(Self.deleteDependencies, number)
      try self.connection.execute(Self.delete, number)
    }
    self.mutations -= self.endedHere.count
    self.endedHere = []
  }

  /// Creates the heads of lanes, computes the totals, and makes sure that no number is assigned
  /// again.
  ///
  /// - Throws: `StorageError`.
  mutating func finish() throws {
    try self.removeEnded()
    let derived = DerivedRows(connection: self.connection, now: self.now)
    try derived.makeHeads(
      of: try self.connection.rows(Self.live, self.partition) { try $0.integer(at: 0) })
    try derived.keepNumbersRising(above: self.newestNumber)
    try derived.countRows(of: self.partition)
  }
}
