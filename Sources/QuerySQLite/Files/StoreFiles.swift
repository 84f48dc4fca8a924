package import Foundation
package import Query

/// Where the files of a store are, or would be: what a tool looks at before it opens one, since opening
/// makes what is missing.
package struct StoreFiles: Hashable, Sendable {
  private let locations: StorageLocations

  /// The files of a folder.
  ///
  /// - Throws: `StorageError` (misuse) where it is no URL of a local file.
  package init(directory: URL) throws(StorageError) {
    self.locations = try StorageLocations(directory: directory)
  }

  /// The files of an application.
  ///
  /// - Throws: `StorageError`, as ``SQLiteQueryStorage/init(applicationID:partition:configuration:)``.
  package init(applicationID: String) throws(StorageError) {
    self.locations = try StorageLocations(applicationID: applicationID)
  }

  /// The absolute path of the values.
  package var cache: String { self.path(of: .cache) }

  /// The absolute path of the outbox.
  package var mutations: String { self.path(of: .mutations) }

  private func path(of kind: DatabaseKind) -> String {
    "\(self.locations.folder(of: kind))/\(kind.fileName)"
  }
}
