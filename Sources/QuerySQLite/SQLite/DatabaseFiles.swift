import CSQLite
import Foundation
import Query
import Synchronization

/// Makes folders and database files, and looks where they are. What it asks of the system are values
/// that a test replaces.
struct DatabaseFiles: Sendable {
  /// The type of the file system that a path is on, by `statfs`; nil where that fails.
  var fileSystemType: @Sendable (_ path: String) -> Int? = { path in
    let type = csqlite_file_system_type(path)
    return type < 0 ? nil : Int(type)
  }

  /// The numbers of network file systems, by name: there a lock or shared memory may not reach
  /// another machine.
  static let networkFileSystems = [
    0x6969: "NFS", 0x517b: "SMB", 0xff53_4d42: "SMB", 0xfe53_4d42: "SMB", 0x0102_1997: "9p",
    0x5346_414f: "AFS", 0x7375_7245: "Coda", 0x00c3_6400: "Ceph",
  ]

  /// Makes a folder, and those above it that are missing, for this user alone (0700). What is there
  /// stays as it is.
  ///
  /// - Throws: `StorageError`.
  func makeFolder(_ path: String) throws(StorageError) {
    if mkdir(path, 0o700) == 0 { return self.synchroniseParent(of: path) }
    if errno == EEXIST { return }
    let parent = (path as NSString).deletingLastPathComponent
    guard errno == ENOENT, parent != path, !parent.isEmpty else {
      throw StorageError(errno: errno, operation: "make the folder", path: path)
    }
    try self.makeFolder(parent)
    if mkdir(path, 0o700) == 0 { return self.synchroniseParent(of: path) }
    if errno != EEXIST {
      throw StorageError(errno: errno, operation: "make the folder", path: path)
    }
  }

  /// Brings the name of a new folder to the disk: without it all that comes to be in it would be gone.
  private func synchroniseParent(of path: String) {
    let parent = (path as NSString).deletingLastPathComponent
    self.synchronise(folder: parent.isEmpty ? "." : parent)
  }

  /// Makes an empty file for this user alone (0600) where there is none.
  ///
  /// - Throws: `StorageError`.
  func makeFile(_ path: String) throws(StorageError) {
    let failure = Self.making.withLock { _ -> StorageError? in
      // Bytes: a file that was not there, made empty before SQLite sees it.
      let descriptor = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
      if descriptor < 0 {
        let number = errno
        if number == EEXIST { return nil }
        return StorageError(errno: number, operation: "make the file", path: path)
      }
      close(descriptor)
      return nil
    }
    if let failure { throw failure }
  }

  /// Held from making a file to closing its descriptor, which would drop the locks that SQLite has
  /// on it: whoever else wants to open it comes by here first, and waits.
  private static let making = Mutex(())

  /// Refuses what stands in the place of a database, or of the files that SQLite has beside it, and is
  /// no file. The database may be a link to one; through a link in the place of its log SQLite would
  /// write over what it leads to.
  ///
  /// - Throws: `StorageError` (cannot open).
  func requireRegularFiles(_ path: String) throws(StorageError) {
    var status = stat()
    if stat(path, &status) == 0, let kind = RegularFile.otherKind(status) {
      throw RegularFile.error("it is \(kind), and no file", operation: "open", path: path)
    }
    // SQLite has them beside the file that a link leads to.
    let place =
      (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) == nil
      ? path : URL(filePath: path).resolvingSymlinksInPath().path
    for companion in ["-wal", "-shm", "-journal"].map({ place + $0 }) {
      guard lstat(companion, &status) == 0, let kind = RegularFile.otherKind(status) else {
        continue
      }
      throw RegularFile.error("it is \(kind), and no file", operation: "open", path: companion)
    }
  }

  /// How long a file is, or nil where there is none.
  func size(of path: String) -> Int? {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : nil
  }

  /// Refuses a path that SQLite has no room for.
  ///
  /// - Throws: `OpeningFailure` (refused).
  func refuseLongPath(_ path: String) throws(OpeningFailure) {
    let whole = URL(filePath: path).resolvingSymlinksInPath().path
    // It puts "-journal" behind the name.
    let count = max(path.utf8.count, whole.utf8.count) + 8
    if count <= Self.maximumPathBytes { return }
    throw OpeningFailure(
      .refused,
      StorageError(
        operation: "open", code: .cannotOpen,
        message: """
          its path has \(count - 8) bytes, and SQLite takes \(Self.maximumPathBytes - 8) (512 with \
          "-journal"); choose a folder with a shorter one
          """,
        fileName: (path as NSString).lastPathComponent))
  }

  /// What SQLite has room for: `MAX_PATHNAME` of its VFS.
  private static let maximumPathBytes = 512

  /// Refuses a path on a network file system.
  ///
  /// - Throws: `OpeningFailure` (refused).
  func refuseNetworkFileSystem(_ path: String) throws(OpeningFailure) {
    guard let type = self.fileSystemType(path) else { return }
    guard let name = Self.networkFileSystems[type] else { return }
    throw OpeningFailure(
      .refused,
      StorageError(
        operation: "open", code: .cannotOpen,
        message: """
          it is on a network file system (\(name)), where locks and shared memory cannot be relied \
          on; choose a folder on a local disk
          """,
        fileName: (path as NSString).lastPathComponent))
  }
}
