import Migrations

/// Which of the two files: they have two fates.
enum DatabaseKind: String, Sendable, CaseIterable {
  /// Values of queries; disposable.
  case cache
  /// The outbox; precious.
  case mutations

  /// The name of the file.
  var fileName: String { "\(self.rawValue).sqlite" }

  /// What marks the file as ours: `QRca`, `QRmu`.
  var applicationID: Int64 {
    switch self {
    case .cache: 1_364_353_889
    case .mutations: 1_364_356_469
    }
  }

  /// The steps of its schema.
  var migrations: [Migration] {
    switch self {
    case .cache: Migration.cache
    case .mutations: Migration.mutations
    }
  }

  /// Whether the file can shrink. The outbox keeps the pages that it frees, so that there is room
  /// for it on a full disk.
  var shrinks: Bool { self == .cache }
}
