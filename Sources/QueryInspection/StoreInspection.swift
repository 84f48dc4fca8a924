package import FoundationEssentials
import Glibc
import Query
import QuerySQLite

/// Inspects a store on disk: the content of an application's `cache.sqlite` and `mutations.sqlite`.
///
/// ```swift
/// let store = try StoreInspection(applicationID: "org.example.notes")
/// try store.entries(EntryQuery(sort: .size, limit: 10)) { print($0.identity, $0.byteCount) }
/// ```
/// It takes no writer's lock and changes nothing, and works while applications write. Closures that
/// receive rows are called outside transactions, so they may take their time. Dates are
/// microseconds since 1970.
///
/// Used by one thread at a time; not `Sendable`.
package final class StoreInspection {
  let cacheFile: InspectionFile
  let mutationsFile: InspectionFile

  /// Inspects the store of an application, in its XDG folders.
  ///
  /// - Parameter applicationID: The name of the folders, as `org.example.notes`.
  /// - Throws: `InspectionError`: no store; unavailable. The files are opened when they are first read.
  package convenience init(applicationID: String) throws(InspectionError) {
    do {
      try self.init(StorageLocations(applicationID: applicationID))
    } catch {
      throw InspectionError(any: error, operation: "locate")
    }
  }

  /// Inspects a store that has all its files in one folder.
  ///
  /// - Parameter directory: The folder.
  /// - Throws: `InspectionError`: no store; unavailable. The files are opened when they are first read.
  package convenience init(directory: URL) throws(InspectionError) {
    do {
      try self.init(StorageLocations(directory: directory))
    } catch {
      throw InspectionError(any: error, operation: "locate")
    }
  }

  private init(_ locations: StorageLocations) throws(InspectionError) {
    self.cacheFile = InspectionFile(kind: .cache, folder: locations.folder(of: .cache))
    self.mutationsFile = InspectionFile(
      kind: .mutations, folder: locations.folder(of: .mutations))
    let hasCache = try self.cacheFile.exists
    let hasMutations = try self.mutationsFile.exists
    guard hasCache || hasMutations else { throw .noStore(folders: self.folders) }
  }

  /// The folders of the files: one common, or one for each.
  package var folders: [String] {
    let (cache, mutations) = (self.cacheFile.folder, self.mutationsFile.folder)
    return cache == mutations ? [cache] : [cache, mutations]
  }

  /// Whether there is an outbox.
  package var hasOutbox: Bool { (try? self.mutationsFile.exists) ?? true }

  /// Whether this user could write the files: not on a read-only file system, nor on a full disk.
  package var canBeWritten: Bool {
    DatabaseKind.allCases.allSatisfy { kind in
      let file = self.file(kind)
      guard (try? file.exists) ?? true else { return true }
      var space = statvfs()
      return access(file.folder, W_OK) == 0 && access(file.path, W_OK) == 0
        && statvfs(file.folder, &space) == 0 && space.f_bavail > 0
    }
  }

  func file(_ kind: DatabaseKind) -> InspectionFile {
    kind == .cache ? self.cacheFile : self.mutationsFile
  }

  /// Reads a file that may be missing.
  ///
  /// - Returns: nil if there is none.
  /// - Throws: `InspectionError`.
  func readIfThere<R>(
    _ kind: DatabaseKind,
    _ body: (SQLiteConnection) throws -> R
  ) throws(InspectionError) -> R? {
    let file = self.file(kind)
    do {
      return try file.exists ? try file.read(body) : nil
    } catch .noStore {
      // It is being made, or has been removed since.
      return nil
    }
  }
}

// MARK: - Applications

extension StoreInspection {
  /// The identifiers of this user's applications that have a store, sorted.
  package static func applications() -> [String] { StorageLocations.applications() }

  /// If this store is one half of an application's, since it was named by one of its two folders: the
  /// application, and the folder of the other half.
  package var otherHalf: (application: String, folder: String)? {
    guard self.cacheFile.folder == self.mutationsFile.folder else { return nil }
    let folder = self.cacheFile.folder
    let application = String(folder.split(separator: "/").last ?? "")
    guard let whole = try? StorageLocations(applicationID: application) else { return nil }
    for kind in DatabaseKind.allCases where whole.folder(of: kind) == folder {
      for other in DatabaseKind.allCases where whole.folder(of: other) != folder {
        let path = "\(whole.folder(of: other))/\(other.fileName)"
        if FileState(of: path).databaseSize != nil {
          return (application, whole.folder(of: other))
        }
      }
    }
    return nil
  }
}

// MARK: - Partitions

extension StoreInspection {
  /// The names of all accounts of a file, by number. Id, name. Erased accounts have none.
  static let partitionNames: SQL = """
    SELECT id, name FROM partitions WHERE substr(name, 1, 7) <> 'erased:' ORDER BY name, id
    """

  /// The names of the accounts of both files, in order.
  ///
  /// - Throws: `InspectionError`.
  package func partitions() throws(InspectionError) -> [String] {
    var names = Set<String>()
    for kind in DatabaseKind.allCases {
      let found = try self.readIfThere(kind) { try Self.partitions(on: $0) }
      names.formUnion(found?.map(\.name) ?? [])
    }
    return names.sorted()
  }

  /// Throws if no account has a name.
  ///
  /// - Parameter name: The name; nil: any will do.
  /// - Throws: `InspectionError`: unknown partition, and the errors of reading.
  package func require(partition name: String?) throws(InspectionError) {
    guard let name else { return }
    let known = try self.partitions()
    if !known.contains(name) { throw .unknownPartition(name, known: known) }
  }

  static func partitions(on connection: SQLiteConnection) throws -> [(id: Int64, name: String)] {
    try connection.rows(Self.partitionNames) { (try $0.integer(at: 0), try $0.text(at: 1)) }
  }

  /// The accounts of a file that a command concerns.
  static func partitions(
    _ name: String?, on connection: SQLiteConnection
  ) throws -> [(id: Int64, name: String)] {
    try self.partitions(on: connection).filter { name == nil || $0.name == name }
  }
}
