package import Query

/// Why a database could not be opened, classified by the remedy.
package struct OpeningFailure: Error {
  /// The remedy.
  package enum Kind: Equatable {
    /// The user must mend it: the file belongs to another program, or is on a network file system.
    /// It is left as it was, byte for byte.
    case refused
    /// The file is damaged, or not a database.
    case corrupt
    /// A newer release made it, at this level.
    case newer(level: Int)
    /// Its schema was made by other migrations of the same names: one was changed after its
    /// release.
    case altered
    /// The file is empty so far: a process is making it, or was killed while doing so.
    case blank
    /// It cannot be used now: no space, no permission, locked, an I/O error. It may be usable
    /// later.
    case unavailable
  }

  package let kind: Kind

  /// The error to show.
  package let error: StorageError

  package init(_ kind: Kind, _ error: StorageError) {
    self.kind = kind
    self.error = error
  }

  /// The failure that corresponds to an error of SQLite.
  init(_ error: StorageError) {
    switch error.code {
    case .corrupt, .notADatabase: self.init(.corrupt, error)
    default: self.init(.unavailable, error)
    }
  }
}
