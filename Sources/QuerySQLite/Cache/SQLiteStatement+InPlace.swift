import CSQLite
import FoundationEssentials
import Glibc
import Query

// MARK: - Reading columns where they are

extension SQLiteStatement {
  /// Calls a closure with the UTF-8 of a text in SQLite's memory, which is valid until it returns.
  ///
  /// - Throws: `StorageError` (mismatch) if the column is not a text.
  package func withText<R>(
    at index: Int32,
    _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R {
    guard sqlite3_column_type(self.handle, index) == SQLITE_TEXT,
      let start = sqlite3_column_text(self.handle, index)
    else {
      // Throws, unless memory ran out the first time.
      var text = try self.text(at: index)
      return try text.withUTF8 { try body(UnsafeRawBufferPointer($0)) }
    }
    let count = Int(sqlite3_column_bytes(self.handle, index))
    return try body(UnsafeRawBufferPointer(start: start, count: count))
  }

  /// Whether a text has the bytes of another one: Unicode normalisation makes no two texts one
  /// identity.
  ///
  /// - Throws: `StorageError` (mismatch) if the column is not a text.
  func hasText(_ text: String, at index: Int32) throws -> Bool {
    var text = text
    return try self.withText(at: index) { stored in
      text.withUTF8 { wanted in
        guard let first = stored.baseAddress, let second = wanted.baseAddress else {
          return stored.isEmpty && wanted.isEmpty
        }
        return stored.count == wanted.count && memcmp(first, second, wanted.count) == 0
      }
    }
  }

  /// Checks that a row which an index has led to is the one of the identity that was asked for.
  ///
  /// - Throws: `StorageError` (corrupt).
  func requireHash(_ hash: XXH128, at index: Int32) throws {
    if (try? self.hash(at: index)) == hash { return }
    throw StorageError(
      operation: "find an entry", code: .wrongIndex,
      message: "the index leads to another one's row",
      sql: self.sql, fileName: DatabaseKind.cache.fileName)
  }
}
