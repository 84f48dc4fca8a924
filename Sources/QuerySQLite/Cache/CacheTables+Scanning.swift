import FoundationEssentials
import Query

extension CacheTables {
  /// After this many rows or bytes, a scan ends its read transaction and begins another: the WAL
  /// cannot be restarted while one lasts.
  private static let rowsPerRead = 4_096
  private static let bytesPerRead = 8 << 20

  /// Reads all sound entries whose path begins with a prefix. Each entry is consistent in itself;
  /// two of them may belong to two states of the database. Called outside transactions.
  ///
  /// - Parameters:
  ///   - prefix: The prefix of the paths.
  ///   - limit: The maximum sum of bytes passed on.
  ///   - body: Called with each entry, in no particular order.
  /// - Returns: Whether those were all; false if one more would have exceeded the limit.
  /// - Throws: `StorageError`, and what the closure throws.
  /// - Complexity: O(*m* log *n*) in the number of entries under the prefix and in the file.
  func scan(
    _ prefix: IdentityPrefix,
    upToBytes limit: Int,
    _ body: (QueryIdentity, StoredEntry) throws -> Void
  ) throws -> Bool {
    var (cursor, left) = (IdentityCursor(prefix), limit)
    repeat {
      var chunk = Chunk()
      repeat {
        chunk = try self.connection.read { try self.scanChunk(&cursor, upToBytes: left, body) }
        if chunk.isOverLimit { return false }
        left -= chunk.bytes
      } while !chunk.isLast
    } while cursor.passRange()
    return true
  }

  /// The result of one read transaction of a scan.
  private struct Chunk {
    var bytes = 0
    var isLast = true
    var isOverLimit = false
  }

  private func scanChunk(
    _ cursor: inout IdentityCursor,
    upToBytes limit: Int,
    _ body: (QueryIdentity, StoredEntry) throws -> Void
  ) throws -> Chunk {
    try self.connection.withStatement(EntryRow.readRange) { row in
      try row.bindAll(Int.max, self.partition, cursor.lower, cursor.upper)
      var (chunk, rows) = (Chunk(), 0)
      while try row.step() {
        rows += 1
        let identity = QueryIdentity(canonicalText: try row.text(at: 20))
        cursor.pass(identity.text)
        let bytes = Int(clamping: row.rawInteger(at: 3))
        chunk.isOverLimit = bytes > limit - chunk.bytes
        if chunk.isOverLimit { return chunk }
        // A damaged entry is found, and moved to the quarantine, when its store is created.
        if case .entry(let entry) = try self.read(row, of: identity) {
          try body(identity, entry)
          chunk.bytes += bytes
        }
        chunk.isLast = rows < Self.rowsPerRead && chunk.bytes < Self.bytesPerRead
        if !chunk.isLast { return chunk }
      }
      chunk.isLast = true
      return chunk
    }
  }
}
