package import FoundationEssentials
import Query
import QuerySQLite

/// The few changes that a user makes to the values of a store by hand: to entries, free space and
/// quarantine. None of them touches the outbox; only ``StoreImport`` writes one, if it is empty.
///
/// ```swift
/// let store = try StoreMaintenance(directory: folder)
/// let entry = try StoreInspection(directory: folder).entry(named: "3f2a")
/// try store.remove(entry)
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
      let connection = try opener.openCheckedWriter(lock)
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
  /// Removes an entry with its pages.
  ///
  /// - Parameter entry: What was read of it. One that was written with its identity since then is the same.
  /// - Returns: The removed entry.
  /// - Throws: `InspectionError`: no store, not found, and the errors of writing.
  @discardableResult
  package func remove(_ entry: InspectedEntry) throws(InspectionError) -> InspectedEntry {
    try self.withWriter(.cache) { connection in
      try connection.write {
        let others = try StoreInspection.ids(
          ofIdentity: entry.identity, in: entry.partition, on: connection)
        // By its number first: the index may not lead to a row whose text is damaged.
        for id in [entry.id] + others {
          if let found = try StoreInspection.entry(id, on: connection),
            (found.partition, found.identity) == (entry.partition, entry.identity)
          {
            return try Self.removeRow(of: found, on: connection)
          }
        }
        throw InspectionError.notFound("entry \(entry.identity)")
      }
    }
  }

  private static func removeRow(
    of entry: InspectedEntry, on connection: SQLiteConnection
  ) throws -> InspectedEntry {
    var changes = try CacheTables.current(named: entry.partition, on: connection).begin()
    // An impossible number of a damaged row does not trap.
    let bytes = (0...(1 << 60)).contains(entry.byteCount) ? entry.byteCount : 0
    try changes.removeRow(entry.id, bytes: bytes)
    _ = try changes.finish()
    return entry
  }
}
