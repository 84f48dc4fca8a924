import Query

/// Why a database could not be opened, by what is to be done about it.
struct OpeningFailure: Error {
  /// What is to be done about it.
  enum Kind: Equatable {
    /// A person must mend it: the file is another program's, or on a network file system. It is as
    /// it was, byte for byte.
    case refused
    /// The file is damaged, or no database.
    case corrupt
    /// A newer release has made it, at this level.
    case newer(level: Int)
    /// Its schema was made by other steps of the same names: a step was changed after its release.
    case altered
    /// Nothing is in it yet: somebody is making it, or was killed over that.
    case blank
    /// It cannot be used now: no space, no permission, locked, an I/O error. Later it may.
    case unavailable
  }

  let kind: Kind

  /// The error to show.
  let error: StorageError

  init(_ kind: Kind, _ error: StorageError) {
    self.kind = kind
    self.error = error
  }

  /// The failure that an error of SQLite means.
  init(_ error: StorageError) {
    switch error.code {
    case .corrupt, .notADatabase: self.init(.corrupt, error)
    default: self.init(.unavailable, error)
    }
  }
}
