import Foundation
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
  /// - Complexity: O(*n*) in the number of entries of the file.
  func scan(
    _ prefix: IdentityPrefix,
    upToBytes limit: Int,
    _ body: (QueryIdentity, StoredEntry) throws -> Void
  ) throws -> Bool {
    var cursor: Int64 = 0
    var left = limit
    while true {
      let chunk = try self.connection.read {
        try self.scanChunk(prefix, after: cursor, upToBytes: left, body)
      }
      if chunk.isOverLimit { return false }
      guard let next = chunk.next else { return true }
      cursor = next
      left -= chunk.bytes
    }
  }

  /// The result of one read transaction of a scan.
  private struct Chunk {
    /// Where the next one continues; nil at the end.
    var next: Int64?
    var bytes = 0
    var isOverLimit = false
  }

  private func scanChunk(
    _ prefix: IdentityPrefix,
    after cursor: Int64,
    upToBytes limit: Int,
    _ body: (QueryIdentity, StoredEntry) throws -> Void
  ) throws -> Chunk {
    try self.connection.withStatement(EntryRow.readIdentities) { row in
      try row.bindAll(cursor, self.partition)
      var chunk = Chunk()
      var rows = 0
      while try row.step() {
        rows += 1
        if try row.withText(at: 2, { prefix.matches($0) }) {
          let bytes = Int(try row.amount(at: 1))
          chunk.isOverLimit = chunk.bytes + bytes > limit
          if chunk.isOverLimit { return chunk }
          let identity = QueryIdentity(canonicalText: try row.text(at: 2))
          // A damaged entry is found, and moved to the quarantine, when its store is created.
          if case .entry(let entry) = try self.read(identity) {
            try body(identity, entry)
            chunk.bytes += bytes
          }
        }
        if rows >= Self.rowsPerRead || chunk.bytes >= Self.bytesPerRead {
          chunk.next = try row.integer(at: 0)
          return chunk
        }
      }
      return chunk
    }
  }
}
