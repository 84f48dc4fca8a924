import CSQLite
import FoundationEssentials
import Glibc
package import Query
import Synchronization

/// Makes folders and database files, and checks where they are. Its system calls are values that a
/// test replaces.
package struct DatabaseFiles: Sendable {
  /// The type of the file system of a path, by `statfs`; nil if that fails.
  var fileSystemType: @Sendable (_ path: String) -> Int? = { path in
    let type = csqlite_file_system_type(path)
    return type < 0 ? nil : Int(type)
  }

  /// Those of this system.
  package static let system = DatabaseFiles()

  /// The name of a network file system, by its number; nil: it is none, as far as is known. There a lock or
  /// shared memory may not reach another machine.
  private static func networkFileSystem(_ type: Int) -> String? {
    switch type {
    case 0x6969: "NFS"
    case 0x517b, 0xff53_4d42, 0xfe53_4d42: "SMB"
    case 0x0102_1997: "9p"
    case 0x5346_414f: "AFS"
    case 0x7375_7245: "Coda"
    case 0x00c3_6400: "Ceph"
    default: nil
    }
  }

  /// Makes a folder and its missing parents, for this user alone (0700). Existing folders stay as
  /// they are.
  ///
  /// - Throws: `StorageError`.
  package func makeFolder(_ path: String) throws(StorageError) {
    if mkdir(path, 0o700) == 0 { return self.synchroniseParent(of: path) }
    if errno == EEXIST { return }
    let parent = FilePath.folder(of: path)
    guard errno == ENOENT, parent != path, !parent.isEmpty else {
      throw StorageError(errno: errno, operation: "make the folder", path: path)
    }
    try self.makeFolder(parent)
    if mkdir(path, 0o700) == 0 { return self.synchroniseParent(of: path) }
    if errno != EEXIST {
      throw StorageError(errno: errno, operation: "make the folder", path: path)
    }
  }

  /// Syncs the name of a new folder: without it, everything in the folder would be lost.
  private func synchroniseParent(of path: String) {
    let parent = FilePath.folder(of: path)
    self.synchronise(folder: parent.isEmpty ? "." : parent)
  }

  /// Makes an empty file for this user alone (0600) if there is none.
  ///
  /// - Throws: `StorageError`.
  func makeFile(_ path: String) throws(StorageError) {
    let failure = Self.making.withLock { _ -> StorageError? in
      // Bytes: a file that did not exist, made empty before SQLite sees it.
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

  /// Held from the creation of a file until its descriptor is closed, which would drop SQLite's
  /// locks on the file: any other thread that wants to open it comes by here first, and waits.
  private static let making = Mutex(())

  /// Refuses anything but a regular file in the place of a database, or of the files that SQLite
  /// has beside it. The database may be a link to a file; if the WAL were a link, SQLite would
  /// overwrite its target.
  ///
  /// - Throws: `StorageError` (cannot open).
  func requireRegularFiles(_ path: String) throws(StorageError) {
    var status = stat()
    if stat(path, &status) == 0, let kind = RegularFile.otherKind(status) {
      throw RegularFile.error("it is \(kind), and no file", operation: "open", path: path)
    }
    // SQLite puts them beside the target of a link.
    let place = FilePath.isLink(path) ? FilePath.resolved(path) : path
    for suffix in ["-wal", "-shm", "-journal"] {
      let companion = place + suffix
      guard lstat(companion, &status) == 0, let kind = RegularFile.otherKind(status) else {
        continue
      }
      throw RegularFile.error("it is \(kind), and no file", operation: "open", path: companion)
    }
  }

  /// How many bytes this user can still write to the file system of a folder; nil if it does not say.
  func freeBytes(in folder: String) -> Int? {
    var status = statvfs()
    guard statvfs(folder, &status) == 0 else { return nil }
    return Self.bytes(of: status.f_bavail, eachOf: status.f_frsize)
  }

  /// The bytes of blocks as `statvfs` counts them; nil if it does not know, which is all ones.
  static func bytes(of blocks: UInt, eachOf size: UInt) -> Int? {
    if blocks == .max { return nil }
    let (bytes, hasOverflown) = blocks.multipliedReportingOverflow(by: size)
    return hasOverflown ? .max : Int(clamping: bytes)
  }

  /// The length of a file; nil if there is none.
  package func size(of path: String) -> Int? {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : nil
  }

  /// Whether a WAL has something behind a header that is not all zeros, as it is after a close. A new one is a
  /// header alone until the names in its folder are synced: if the power is cut before, the journal from which
  /// SQLite empties the new database may be back, and the WAL has no commit.
  ///
  /// - Throws: `StorageError`.
  static func logMayHaveFrames(_ path: String) throws(StorageError) -> Bool {
    // Bytes: it is only read, and a WAL has no lock of SQLite's, which closing it would release.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else {
      if errno == ENOENT { return false }
      throw StorageError(errno: errno, operation: "look at the log", path: path)
    }
    defer { close(descriptor) }
    let headerCount = 32
    var start = [UInt8](repeating: 0, count: headerCount + 1)
    return read(descriptor, &start, start.count) == start.count
      && start.prefix(headerCount).contains { $0 != 0 }
  }

  /// Refuses a path that is too long for SQLite.
  ///
  /// - Throws: `OpeningFailure` (refused).
  func refuseLongPath(_ path: String) throws(OpeningFailure) {
    let whole = FilePath.resolved(path)
    // SQLite appends "-journal" to the name.
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
        fileName: FilePath.name(of: path)))
  }

  /// The longest path of SQLite: `MAX_PATHNAME` of its VFS.
  private static let maximumPathBytes = 512

  /// Refuses a path on a network file system.
  ///
  /// - Throws: `OpeningFailure` (refused).
  func refuseNetworkFileSystem(_ path: String) throws(OpeningFailure) {
    guard let type = self.fileSystemType(path) else { return }
    guard let name = Self.networkFileSystem(type) else { return }
    throw OpeningFailure(
      .refused,
      StorageError(
        operation: "open", code: .cannotOpen,
        message: """
          it is on a network file system (\(name)), where locks and shared memory cannot be relied \
          on; choose a folder on a local disk
          """,
        fileName: FilePath.name(of: path)))
  }
}

extension DatabaseFiles {
  /// Syncs the names in a folder: without its name a new file is gone, even if its content was
  /// synced, and a deleted file is back.
  ///
  /// Some file systems do not support it, and nothing can be done there.
  package func synchronise(folder: String) {
    // Bytes: a folder.
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if descriptor < 0 { return }
    fsync(descriptor)
    close(descriptor)
  }
}
