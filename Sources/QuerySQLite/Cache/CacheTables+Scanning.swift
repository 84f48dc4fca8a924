import Foundation
import Query

extension CacheTables {
  /// After so many rows, or bytes, a scan ends its read transaction and begins another one: as long
  /// as one lasts, the WAL cannot be restarted.
  private static let rowsPerRead = 4_096
  private static let bytesPerRead = 8 << 20

  /// Reads all sound entries whose path begins with another one. Each entry is whole; two of them may
  /// be of two states of the database. Outside transactions.
  ///
  /// - Parameters:
  ///   - prefix: The beginning of the paths.
  ///   - limit: How many bytes are handed out together at most.
  ///   - body: Called with each entry, in no order that means anything.
  /// - Returns: Whether those were all; not where one more would have been above the limit.
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

  /// What one read transaction of a scan came to.
  private struct Chunk {
    /// Where the next one goes on; nil at the end.
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
          // What is damaged is found, and moved away, when its store is created.
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
