package import FoundationEssentials
package import Query

/// The paths of a store's files, whether they exist or not: a tool checks them before it opens one,
/// since opening creates missing files.
package struct StoreFiles: Hashable, Sendable {
  private let locations: StorageLocations

  /// The files of a folder.
  ///
  /// - Throws: `StorageError` (misuse) if it is not the URL of a local file.
  package init(directory: URL) throws(StorageError) {
    self.locations = try StorageLocations(directory: directory)
  }

  /// The files of an application.
  ///
  /// - Throws: `StorageError`, as ``SQLiteQueryStorage/init(applicationID:partition:configuration:)``.
  package init(applicationID: String) throws(StorageError) {
    self.locations = try StorageLocations(applicationID: applicationID)
  }

  /// The absolute path of the cache.
  package var cache: String { self.path(of: .cache) }

  /// The absolute path of the outbox.
  package var mutations: String { self.path(of: .mutations) }

  private func path(of kind: DatabaseKind) -> String {
    "\(self.locations.folder(of: kind))/\(kind.fileName)"
  }
}
