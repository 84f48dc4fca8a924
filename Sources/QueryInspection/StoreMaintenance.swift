package import FoundationEssentials
import Query
import QuerySQLite

/// The few changes that a user makes to the values of a store by hand: to entries, free space and
/// quarantine. None of them touches the outbox; only ``StoreImport`` writes one, if it is empty.
///
/// ```swift
/// let store = try StoreMaintenance(directory: folder)
/// try store.remove("3f2a")
/// ```
/// Locks are taken as the library takes them, and for one small transaction at a time. Applications
/// that have the store open are notified of each change; their stores in memory keep what they
/// show.
///
/// Used by one thread at a time; not `Sendable`.
package final class StoreMaintenance {
  let locations: StorageLocations

  /// Changes the store of an application, in its XDG folders.
  ///
  /// - Parameter applicationID: The name of the folders.
  /// - Throws: `InspectionError` (unavailable) if the name cannot be that of a folder.
  package init(applicationID: String) throws(InspectionError) {
    do {
      self.locations = try StorageLocations(applicationID: applicationID)
    } catch {
      throw InspectionError(any: error, operation: "locate")
    }
  }

  /// Changes a store that has all its files in one folder.
  ///
  /// - Parameter directory: The folder.
  /// - Throws: `InspectionError` (unavailable) if it is not a local folder.
  package init(directory: URL) throws(InspectionError) {
    do {
      self.locations = try StorageLocations(directory: directory)
    } catch {
      throw InspectionError(any: error, operation: "locate")
    }
  }

  /// Runs a closure with a connection that writes, while no process may replace the file.
  ///
  /// - Parameters:
  ///   - kind: Which file.
  ///   - makes: Whether to make a missing file.
  ///   - body: The change. It returns whether it has changed anything.
  /// - Throws: `InspectionError`, also for an error of the closure.
  func withWriter<R>(
    _ kind: DatabaseKind, makes: Bool = false, _ body: (SQLiteConnection) throws -> R
  ) throws(InspectionError) -> R {
    let folder = self.locations.folder(of: kind)
    let opener = DatabaseOpener(kind: kind, folder: folder)
    if !makes, try !InspectionFile(kind: kind, folder: folder).exists {
      throw .noStore(folders: [folder])
    }
    do {
      if makes { try opener.files.makeFolder(folder) }
      let lock = FileLock(kind: kind, folder: folder)
      try lock.lockShared()
      defer { lock.letGo() }
      // The application finishes that when it next opens the store.
      if kind == .mutations, OutboxSalvage.isPending(in: folder) { throw OutboxSalvage.waiting }
      if try SetAside(kind: kind, folder: folder).isPending {
        throw StorageError(
          operation: "open", code: .busy,
          message: "an application was killed while it replaced the file; start it once",
          fileName: kind.fileName)
      }
      let connection = try opener.openWriter()
      // The first error counts.
      defer { try? connection.close() }
      let result = try body(connection)
      ChangeKick(kind: kind, folder: folder).kick()
      return result
    } catch {
      throw InspectionError(any: error, operation: "write")
    }
  }

  /// The accounts that a command concerns.
  ///
  /// - Throws: `InspectionError` (unknown partition); `StorageError`.
  func accounts(
    in partition: String?, on connection: SQLiteConnection
  ) throws -> [(id: Int64, name: String)] {
    let known = try StoreInspection.partitions(on: connection)
    let wanted = known.filter { partition == nil || $0.name == partition }
    if let partition, wanted.isEmpty {
      throw InspectionError.unknownPartition(partition, known: known.map(\.name))
    }
    return wanted
  }

  /// Runs a closure in a small transaction that changes one account. The account is found by its
  /// name each time: an application may have erased it since, which gives it another number.
  func write<R>(
    account name: String, on connection: SQLiteConnection,
    _ body: (inout CacheChanges) throws -> R
  ) throws -> R {
    try connection.write {
      var changes = try CacheTables.current(named: name, on: connection).begin()
      let result = try body(&changes)
      _ = try changes.finish()
      return result
    }
  }
}

// MARK: - Entries

extension StoreMaintenance {
  /// Id: the columns that a removal needs.
  private static let place: SQL = "SELECT partition, byte_count FROM entries WHERE id = ?"

  /// Removes an entry with its pages.
  ///
  /// - Parameters:
  ///   - name: The prefix of a hash, or a whole identity.
  ///   - partition: The account; nil: any.
  /// - Returns: The removed entry.
  /// - Throws: `InspectionError`: no store, not found, ambiguous, and the errors of writing.
  @discardableResult
  package func remove(
    _ name: String, in partition: String? = nil
  ) throws(InspectionError) -> InspectedEntry {
    try self.withWriter(.cache) { connection in
      _ = try self.accounts(in: partition, on: connection)
      return try connection.write {
        let ids = try StoreInspection.ids(named: name, in: partition, on: connection)
        let entries = try ids.compactMap { try StoreInspection.entry($0, on: connection) }
        guard let entry = entries.first else { throw InspectionError.notFound("entry \(name)") }
        if entries.count > 1 {
          throw InspectionError.ambiguous(
            name, candidates: entries.map { "\($0.hash.short) \($0.identity.prefix(100))" })
        }
        var changes = try CacheTables.current(named: entry.partition, on: connection).begin()
        try changes.removeRow(entry.id, bytes: entry.byteCount)
        _ = try changes.finish()
        return entry
      }
    }
  }
}
