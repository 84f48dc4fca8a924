import CSQLite
import Query

extension SQLiteConnection {
  /// Reads the beginning of a database that may be damaged. SQLite opens and closes it, and so keeps
  /// the locks of this process's other connections to it.
  ///
  /// - Returns: At most so many bytes; none if they cannot be read.
  static func beginning(of path: String, count: Int) -> [UInt8] {
    var options = SQLiteConnection.Options()
    options.isReadOnly = true
    options.parameters = ["immutable": "1"]
    guard let connection = try? SQLiteConnection(path: path, options: options) else { return [] }
    defer { try? connection.close() }
    guard let file = try? connection.filePointer(SQLITE_FCNTL_FILE_POINTER, "read"),
      let methods = file.pointee.pMethods?.pointee
    else { return [] }
    var size: Int64 = 0
    guard methods.xFileSize?(file, &size) == SQLITE_OK else { return [] }
    var bytes = [UInt8](repeating: 0, count: min(Int(size), count))
    let result = methods.xRead?(file, &bytes, Int32(bytes.count), 0)
    return result == SQLITE_OK ? bytes : []
  }
}
