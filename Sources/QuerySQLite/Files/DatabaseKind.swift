package import Migrations

/// Which of the two databases: one may be deleted, the other must not be lost.
package enum DatabaseKind: String, Sendable, CaseIterable {
  /// Values of queries; disposable.
  case cache
  /// The outbox; precious.
  case mutations

  /// The name of the file.
  package var fileName: String { "\(self.rawValue).sqlite" }

  /// The `application_id` that marks the file as this library's: `QRca`, `QRmu`.
  var applicationID: Int64 {
    switch self {
    case .cache: 1_364_353_889
    case .mutations: 1_364_356_469
    }
  }

  /// The migrations of its schema.
  package var migrations: [Migration] {
    switch self {
    case .cache: Migration.cache
    case .mutations: Migration.mutations
    }
  }

  /// Whether the file can shrink. The outbox keeps its free pages, so that there is room for it on
  /// a full disk.
  var shrinks: Bool { self == .cache }
}
