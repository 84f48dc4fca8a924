import CSQLite
import ServerKit

/// A connection to SQLite.
final class SQLiteConnection: KeyDatabase {
  let dialect = KeyStore.Dialect.sqlite
  private var handle: OpaquePointer?
  /// SQLite copies a text that it is given with this.
  private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

  /// What SQLite reports.
  struct Failure: Error {
    let message: String
  }

  init(_ path: String) throws {
    try self.check(sqlite3_open(path, &self.handle))
  }

  deinit { sqlite3_close(self.handle) }

  func rows(_ statement: String, _ values: [String]) throws -> [[String]] {
    var prepared: OpaquePointer?
    try self.check(sqlite3_prepare_v2(self.handle, statement, -1, &prepared, nil))
    defer { sqlite3_finalize(prepared) }
    for (index, value) in values.enumerated() {
      try self.check(sqlite3_bind_text(prepared, Int32(index + 1), value, -1, Self.transient))
    }
    var rows = [[String]]()
    while true {
      let code = sqlite3_step(prepared)
      guard code == SQLITE_ROW else {
        try self.check(code == SQLITE_DONE ? SQLITE_OK : code)
        return rows
      }
      rows.append(
        (0..<sqlite3_column_count(prepared)).map { column in
          sqlite3_column_text(prepared, column).map { String(cString: $0) } ?? ""
        })
    }
  }

  func run(script: String) throws {
    try self.check(sqlite3_exec(self.handle, script, nil, nil, nil))
  }

  private func check(_ code: Int32) throws {
    if code == SQLITE_BUSY { throw KeyStore.Busy() }
    if code != SQLITE_OK { throw Failure(message: String(cString: sqlite3_errmsg(self.handle))) }
  }
}
