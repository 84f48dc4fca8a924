import CSQLite
import Foundation

extension SQLiteConnection {
  /// How to open a connection.
  struct Options: Sendable {
    /// Whether the file is opened for reading alone. A WAL is read too where its shm is there or
    /// can be made.
    var isReadOnly = false

    /// Parameters of SQLite's own for the file, as `readonly_shm` `1` or `immutable` `1`.
    var parameters = [String: String]()

    /// The VFS to use; nil for the default one.
    var vfs: String?

    /// How long to wait for a lock of another connection.
    var busyTimeout = Duration.seconds(5)

    /// How many prepared statements are kept.
    var statementCapacity = 64

    /// Whether the last connection to leave the file checkpoints it. That one is alone then, so it
    /// is safe; a connection that reads leaves it to others.
    var checkpointsOnClose = true

    /// Whether SQLite keeps the references between tables. To delete a row is several times slower then.
    var keepsReferences = true

    /// Whether errors show bound values, in `StorageError.expandedSQL`.
    var revealsValues = false

    /// SQLite's flags. One thread at a time uses a connection, so SQLite need not lock it.
    var flags: Int32 {
      (self.isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) | SQLITE_OPEN_NOMUTEX
        | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_URI
    }

    /// The name to open a path by, a URI where there are parameters.
    func name(of path: String) -> String {
      if self.parameters.isEmpty { return path }
      let query = self.parameters.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
      let allowed = CharacterSet(charactersIn: "/-._~").union(.alphanumerics)
      let escaped = path.addingPercentEncoding(withAllowedCharacters: allowed) ?? path
      return "file:\(escaped)?\(query.joined(separator: "&"))"
    }
  }
}
