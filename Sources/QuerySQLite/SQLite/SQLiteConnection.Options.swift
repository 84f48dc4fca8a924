import CSQLite
import FoundationEssentials

extension SQLiteConnection {
  /// How to open a connection.
  package struct Options: Sendable {
    /// Whether the file is opened only for reading. A WAL is read too, if its shm exists or can be
    /// made.
    package var isReadOnly = false

    /// SQLite's own URI parameters for the file, as `readonly_shm` `1` or `immutable` `1`.
    package var parameters: KeyValuePairs<String, String> = [:]

    /// The VFS to use; nil for the default one.
    package var vfs: String?

    /// How long to wait for another connection's lock.
    package var busyTimeout = Duration.seconds(5)

    /// How many prepared statements are cached.
    package var statementCapacity = 64

    /// Whether the last connection to close checkpoints the file. It is the only one then, so that
    /// is safe; a connection that only reads leaves it to others.
    package var checkpointsOnClose = true

    /// Whether SQLite enforces foreign keys. Deleting a row is then several times slower.
    var keepsReferences = true

    /// Whether errors show bound values, in `StorageError.expandedSQL`.
    var revealsValues = false

    package init() {}

    /// SQLite's flags. Only one thread at a time uses a connection, so SQLite need not lock it.
    var flags: Int32 {
      (self.isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) | SQLITE_OPEN_NOMUTEX
        | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_URI
    }

    /// The name to open a path with, a URI if there are parameters.
    func name(of path: String) -> String {
      if self.parameters.isEmpty { return path }
      var name = "file:\(Self.escape(path))"
      for (index, parameter) in self.parameters.enumerated() {
        name += "\(index == 0 ? "?" : "&")\(parameter.key)=\(parameter.value)"
      }
      return name
    }

    /// A path as a URI has it.
    private static func escape(_ path: String) -> String {
      var escaped = ""
      for byte in path.utf8 {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "-"),
          UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
          escaped.unicodeScalars.append(Unicode.Scalar(byte))
        default: escaped += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
        }
      }
      return escaped
    }
  }
}
