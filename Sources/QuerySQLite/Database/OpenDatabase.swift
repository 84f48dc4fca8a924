import Query

/// A database that storages of this process share, and its folder, which is held open as long.
final class OpenDatabase<Database: Sendable>: Sendable {
  let database: Database
  /// How many storages use it.
  let holders = Locked(1)
  private let folder: HeldFolder

  init(_ database: Database, _ folder: HeldFolder) {
    self.database = database
    self.folder = folder
  }
}
