import FoundationEssentials
import Glibc
import Query
import QuerySQLite

// MARK: - Ended mutations

extension StoreExport {
  /// Writes the ended mutations, in the order of ending, each with its attempts.
  func putHistory(of partition: Int64) throws {
    try self.putChunks { try self.ended(of: partition, after: $0, on: $1) }
  }

  /// The result of one transaction.
  private struct Chunk {
    var lines = [ExportLine]()
    var damaged = [String]()
    /// The number after which the next chunk begins; nil at the end.
    var last: Int64?
    var count = 0
  }

  /// Writes rows chunk by chunk, each as of one transaction.
  ///
  /// - Parameter read: Reads the chunk after a number.
  private func putChunks(
    _ read: (_ last: Int64, _ connection: SQLiteConnection) throws -> Chunk
  ) throws {
    var next: Int64? = 0
    while let last = next {
      let chunk = try self.store.mutationsFile.read { try read(last, $0) }
      try self.put(chunk)
      next = chunk.last
    }
  }

  private func put(_ chunk: Chunk) throws {
    for line in chunk.lines {
      try self.put(line)
      for file in BodyNames.split(line.text("bodyFile")) { try self.putBody(file) }
    }
    for damaged in chunk.damaged { self.leaveOut(damaged) }
  }

  private func ended(
    of partition: Int64, after last: Int64, on connection: SQLiteConnection
  ) throws -> Chunk {
    let table = self.schema.ended
    let (id, number) = (table.index(of: "id"), table.index(of: "number"))
    let (arguments, result) = (table.index(of: "arguments"), table.index(of: "result"))
    let checksum = table.index(of: "checksum")
    var chunk = Chunk()
    try connection.withStatement(table.read) { row in
      try row.bindAll(partition, last, Self.rowsPerRead)
      while try row.step() {
        chunk.count += 1
        chunk.last = try row.integer(at: Int32(table.columns.count))
        let id = try row.uuid(at: id)
        guard
          try row.hash(at: checksum)
            == HistoryRow.checksum(
              id: id, number: try row.integer(at: number), arguments: try row.data(at: arguments),
              result: try row.optionalData(at: result))
        else {
          chunk.damaged.append("mutation \(id), which has ended: it is not what was written")
          continue
        }
        chunk.lines.append(try table.line(row))
        chunk.lines += try self.attempts(of: id, on: connection)
      }
    }
    if chunk.count < Self.rowsPerRead { chunk.last = nil }
    return chunk
  }

  private func attempts(of id: UUID, on connection: SQLiteConnection) throws -> [ExportLine] {
    try connection.rows(self.schema.attempt.read, id) { try self.schema.attempt.line($0) }
  }
}

// MARK: - The outbox

extension StoreExport {
  private static let standing: SQL = """
    SELECT paused_at, credentials_epoch, revision,
      (SELECT max(last_number) FROM partitions),
      (SELECT synchronised_at FROM clock WHERE id = 1)
    FROM partitions WHERE id = ?
    """

  /// Writes live and dead mutations, and everything that belongs to them.
  ///
  /// - Throws: `InspectionError` (unavailable) if the outbox was changed meanwhile: some mutations
  ///   would be missing, or written twice.
  func putOutbox(of partition: Int64) throws {
    let before = try self.standing(of: partition)
    try self.put(before.line)
    try self.putChunks { try self.mutations(of: partition, after: $0, on: $1) }
    for table in [self.schema.dependency, self.schema.alias, self.schema.pause] {
      let lines = try self.store.mutationsFile.read { connection in
        try connection.rows(table.read, partition) { try table.line($0) }
      }
      for line in lines { try self.put(line) }
    }
    try self.putChunks { try self.forgotten(of: partition, after: $0, on: $1) }
    if try self.standing(of: partition).revision == before.revision { return }
    throw InspectionError.unavailable(
      StorageError(
        operation: "export", code: .busy,
        message: "the outbox was changed meanwhile; stop its applications, and try again",
        fileName: DatabaseKind.mutations.fileName))
  }

  private func forgotten(
    of partition: Int64, after last: Int64, on connection: SQLiteConnection
  ) throws -> Chunk {
    let table = self.schema.forgotten
    var chunk = Chunk()
    try connection.withStatement(table.read) { row in
      try row.bindAll(partition, last, Self.rowsPerRead)
      while try row.step() {
        chunk.count += 1
        chunk.last = try row.integer(at: Int32(table.columns.count))
        chunk.lines.append(try table.line(row))
      }
    }
    if chunk.count < Self.rowsPerRead { chunk.last = nil }
    return chunk
  }

  private func standing(of partition: Int64) throws -> (line: ExportLine, revision: Int64) {
    let found = try self.store.mutationsFile.read { connection in
      try connection.first(Self.standing, partition) { row in
        (
          line: ExportLine(
            .outbox,
            [
              ("pausedAt", try ExportValue(row, at: 0, .integer)),
              ("credentialsEpoch", try ExportValue(row, at: 1, .integer)),
              ("newestNumber", .integer(try row.optionalInteger(at: 3) ?? 0)),
              ("synchronisedAt", try ExportValue(row, at: 4, .integer)),
            ]), revision: try row.integer(at: 2)
        )
      }
    }
    guard let found else { throw InspectionError.notFound("partition \(self.partition)") }
    return found
  }

  private func mutations(
    of partition: Int64, after last: Int64, on connection: SQLiteConnection
  ) throws -> Chunk {
    let table = self.schema.mutation
    let (id, number) = (table.index(of: "id"), table.index(of: "number"))
    let checksum = table.index(of: "checksum")
    var chunk = Chunk()
    try connection.withStatement(table.read) { row in
      try row.bindAll(partition, last, Self.rowsPerRead)
      while try row.step() {
        chunk.count += 1
        chunk.last = try row.integer(at: number)
        let id = try row.uuid(at: id)
        var line = try table.line(row)
        // In another file the account has another number.
        let checksum = try row.hash(at: checksum).adding(0 &- partition, as: .account)
        line.values["checksum"] = .text(checksum.withBytes { Data($0) }.base64EncodedString())
        chunk.lines.append(line)
        chunk.lines += try self.attempts(of: id, on: connection)
      }
    }
    if chunk.count < Self.rowsPerRead { chunk.last = nil }
    return chunk
  }

  /// The most bytes of a file in one line.
  static let bytesPerBodyLine = 4 << 20

  /// Writes the body file of a mutation, if it exists: part by part, since it may be of any length.
  private func putBody(_ name: String) throws {
    guard BodyNames.isPlain(name) else { return }
    let path = "\(self.store.mutationsFile.folder)/bodies/\(name)"
    // Bytes: a body file, which is only read.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    defer { if descriptor >= 0 { close(descriptor) } }
    guard descriptor >= 0, var data = try? Self.nextPart(of: descriptor) else {
      self.leaveOut("the file bodies/\(name) of a mutation, which is missing")
      return
    }
    var part: Int64 = 0
    repeat {
      var line = ExportLine(.body, ["name": .text(name)])
      line.values["data"] = .text(data.base64EncodedString())
      if part > 0 { line.values["part"] = .integer(part) }
      try self.put(line)
      part += 1
      do {
        data = try Self.nextPart(of: descriptor)
      } catch {
        throw InspectionError.unavailable(
          StorageError(errno: error.number, operation: "read", path: path))
      }
    } while !data.isEmpty
  }

  /// As many bytes as go into a line, fewer at the end: the parts of equal files are equal.
  private static func nextPart(of descriptor: Int32) throws(HeldFile.Failure) -> Data {
    var part = Data()
    while part.count < Self.bytesPerBodyLine {
      let more = try HeldFile.read(descriptor, atMost: Self.bytesPerBodyLine - part.count)
      if more.isEmpty { break }
      part += more
    }
    return part
  }
}
