import Query

extension BodyFolder {
  /// The folder beside the outbox of a folder.
  ///
  /// - Parameter folder: The absolute path of the folder of the database.
  package init(besideOutboxIn folder: String) {
    let path = "\(folder)/bodies"
    self.init(
      path: path, make: { try DatabaseFiles.system.makeFolder(path) },
      makeHash: { XXH128Stream() })
  }

  /// What rows name.
  static let allNames: SQL = "SELECT body_file FROM outbox WHERE body_file IS NOT NULL"

  /// Name. A row names several files in one text.
  static let isNamed: SQL = """
    SELECT EXISTS (
      SELECT 1 FROM outbox
      WHERE body_file IS NOT NULL AND instr('/' || body_file || '/', '/' || ? || '/'))
    """

  /// Removes the files that no row names, and no living process is about to name.
  ///
  /// - Throws: `StorageError`.
  func sweep(_ connection: SQLiteConnection) throws {
    let names = self.names
    if names.isEmpty { return }
    let named = try connection.rows(Self.allNames) { BodyNames.split(try $0.text(at: 0)) }
    let kept = Set(named.joined())
    for name in names where !kept.contains(name) {
      try self.removeIfLeft(name) {
        try connection.first(Self.isNamed, name) { try $0.bool(at: 0) } ?? false
      }
    }
  }
}
