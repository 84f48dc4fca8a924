package import FoundationEssentials
import Query
import QuerySQLite

/// Exports one account of a store as lines of JSON: a header, values with their pages, ended
/// mutations, on request the live and dead ones, and a trailer with a checksum.
///
/// ```swift
/// let damaged = try store.export("", withOutbox: false) { try file.write(contentsOf: $0) }
/// ```
/// An import of it into an empty store, exported again, gives the same bytes: values in the order
/// of their last use, without the numbers that a store assigns.
final class StoreExport {
  let store: StoreInspection
  let partition: String
  let schema: ExportSchema
  private let checksum: ExportChecksum
  private let write: (Data) throws -> Void
  private var lines = 0

  /// The rows that could not be exported, since they are damaged or too long.
  private(set) var damaged = [String]()

  /// The maximum length of a line: no import reads a longer one.
  var maximumLine = ExportReader.maximumLine

  /// The version of the format.
  static let version: Int64 = 1
  /// Identifies an export.
  static let format = "offline-query export"

  /// How many rows, or bytes, are read in one transaction.
  static let rowsPerRead = 100
  static let bytesPerRead = 4 << 20

  init(
    _ store: StoreInspection, _ partition: String, write: @escaping (Data) throws -> Void
  ) throws {
    self.store = store
    self.partition = partition
    self.schema = try ExportSchema.current.get()
    self.checksum = try ExportChecksum()
    self.write = write
  }

  /// Writes all lines.
  func run(withOutbox: Bool) throws {
    try self.put(
      ExportLine(
        .header,
        [
          "format": .text(Self.format), "version": .integer(Self.version),
          "partition": .text(self.partition), "hasOutbox": .integer(withOutbox ? 1 : 0),
        ]))
    try self.putEntries()
    let id = try self.store.readIfThere(.mutations) { connection in
      try StoreInspection.partitions(self.partition, on: connection).first?.id
    }
    if let id = id ?? nil {
      try self.putHistory(of: id)
      if withOutbox { try self.putOutbox(of: id) }
    }
    try self.write(
      ExportLine(
        .trailer,
        ["lines": .integer(Int64(self.lines)), "checksum": .text(self.checksum.digits)]
      ).bytes())
  }

  /// Writes a line, and counts it.
  ///
  /// - Throws: `InspectionError` (unavailable) if no import would read it.
  func put(_ line: ExportLine) throws {
    let bytes = try line.bytes()
    guard self.fits(bytes) else {
      throw InspectionError.unavailable(
        StorageError(
          operation: "export", code: .tooBig,
          message: "a row of the type \(line.kind.rawValue) is too long for an export"))
    }
    try self.put(bytes)
  }

  private func fits(_ line: Data) -> Bool { line.count <= self.maximumLine }

  private func put(_ bytes: Data) throws {
    self.checksum.add(bytes)
    self.lines += 1
    try self.write(bytes)
  }

  /// Records a row that is left out.
  func leaveOut(_ what: String) { self.damaged.append(what) }
}

// MARK: - Values

extension StoreExport {
  /// Partition: all entries, in the order of their last use.
  private static let order: SQL = """
    SELECT id FROM entries NOT INDEXED WHERE partition = ?
    ORDER BY max(revision, coalesce(last_use, 0)), id
    """

  private func putEntries() throws {
    let ids = try self.store.readIfThere(.cache) { connection in
      try StoreInspection.partitions(self.partition, on: connection).flatMap { id, _ in
        try connection.rows(Self.order, id) { try $0.integer(at: 0) }
      }
    }
    var rest = (ids ?? [])[...]
    while !rest.isEmpty {
      let ids = rest
      let chunk = try self.store.cacheFile.read { connection in
        var chunk = [Result<[ExportLine], ExportedEntry.Damaged>]()
        var bytes = 0
        for id in ids.prefix(Self.rowsPerRead) {
          chunk.append(try ExportedEntry.lines(of: id, bytes: &bytes, on: connection))
          if bytes > Self.bytesPerRead { break }
        }
        return chunk
      }
      for entry in chunk {
        switch entry {
        case .success(let lines): try self.put(entry: lines)
        case .failure(let damaged): self.leaveOut(damaged.description)
        }
      }
      rest = rest.dropFirst(chunk.count)
    }
  }

  /// Writes all lines of an entry, or none of them.
  private func put(entry lines: [ExportLine]) throws {
    let encoded = try lines.map { try $0.bytes() }
    guard encoded.allSatisfy({ self.fits($0) }) else {
      let hash = InspectedHash(XXH128(hashing: lines.first?.text("identity") ?? ""))
      return self.leaveOut("entry \(hash.short): it is too long for an export")
    }
    for line in encoded { try self.put(line) }
  }
}

extension StoreInspection {
  /// Exports an account as lines of JSON, for `StoreImport`. Damaged rows are left out, and
  /// reported; so are values that are too long for a line.
  ///
  /// - Parameters:
  ///   - partition: The account.
  ///   - withOutbox: Whether live and dead mutations are written too.
  ///   - write: Takes the next bytes, a line each time.
  /// - Returns: The rows that were left out, in words.
  /// - Throws: `InspectionError`: unknown partition; unavailable if the outbox was changed
  ///   meanwhile, or has a row that is too long for a line; the errors of reading and of the closure.
  package func export(
    _ partition: String, withOutbox: Bool, write: (Data) throws -> Void
  ) throws -> [String] {
    try self.require(partition: partition)
    return try withoutActuallyEscaping(write) { write in
      let export = try StoreExport(self, partition, write: write)
      try export.run(withOutbox: withOutbox)
      return export.damaged
    }
  }
}
