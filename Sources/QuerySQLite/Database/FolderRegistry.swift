import FoundationEssentials
import Glibc
import Query

/// The open databases of one kind: the storages of this process on one folder share one.
final class FolderRegistry<Database: AnyObject & Sendable>: Sendable {
  // Held while a database is opened or released.
  private let lock = Locked(())
  // Lists, since a process has few; a dictionary of a type of key costs a launch 50 µs.
  private let open = Locked([OpenDatabase<Database>]())
  /// Databases whose last storage is gone, while their threads finish.
  private let ending = Locked([OpenDatabase<Database>]())

  /// The database of a folder, for one storage. ``release(_:_:)`` ends its use.
  ///
  /// - Parameters:
  ///   - folder: The path of the folder.
  ///   - waitForEnd: Waits for the thread of a database that was released before, so that its last
  ///     changes can be read and do not come after newer ones.
  ///   - join: Adds the storage to a database that is open.
  ///   - make: Makes a database.
  /// - Throws: What `make` throws.
  func hold<Part: Sendable>(
    _ folder: String, after waitForEnd: (Database) -> Void = { _ in },
    joining join: (Database) -> Part, making make: () throws -> (Database, Part)
  ) throws -> (Database, Part) {
    // Created here, so that it has a device and an inode; if it cannot be, opening reports it.
    try? DatabaseFiles().makeFolder(folder)
    let held = HeldFolder(folder)
    if let last = self.ending.withLock({ $0.last { $0.folder.key == held.key } }) {
      waitForEnd(last.database)
    }
    return try self.lock.withLock { _ in
      if let open = self.open.withLock({ $0.first { $0.folder.key == held.key } }) {
        open.holders.withLock { $0 += 1 }
        return (open.database, join(open.database))
      }
      let (database, part) = try make()
      self.open.withLock { $0.append(OpenDatabase(database, held)) }
      return (database, part)
    }
  }

  /// Ends the use of a database by one storage.
  ///
  /// - Parameters:
  ///   - database: The database.
  ///   - body: Called under the lock, with whether this was the last storage. Returns whether the
  ///     database's thread is to finish yet; then ``didEnd(_:)`` follows.
  func release(_ database: Database, _ body: (_ isLast: Bool) -> Bool) {
    self.lock.withLock { _ in
      let found = self.open.withLock { open in open.first { $0.database === database } }
      let isLast = found?.holders.withLock { holders in
        holders -= 1
        return holders == 0
      }
      guard isLast == true, let found else {
        _ = body(false)
        return
      }
      self.open.withLock { $0.removeAll { $0 === found } }
      self.ending.withLock { $0.append(found) }
      if !body(true) { self.didEnd(database) }
    }
  }

  /// Records that the thread of a released database has ended.
  func didEnd(_ database: Database) {
    let old = self.ending.withLock { ending in
      ending.firstIndex { $0.database === database }.map { ending.remove(at: $0) }
    }
    // Closes the folder outside the lock.
    withExtendedLifetime(old) {}
  }
}

/// A database that storages of this process share, and its folder, which is held open as long.
final class OpenDatabase<Database: Sendable>: Sendable {
  let database: Database
  /// How many storages use it.
  let holders = Locked(1)
  let folder: HeldFolder

  init(_ database: Database, _ folder: HeldFolder) {
    self.database = database
    self.folder = folder
  }
}

/// The folder of an open database, which keeps its number for as long as this object exists.
///
/// It keeps a descriptor: if the folder is removed while the database is open, the next folder made
/// anywhere could otherwise get its number, and a storage on that would share the database.
final class HeldFolder: Sendable {
  /// Identifies a folder.
  enum Key: Equatable {
    case folder(FileNumber)
    /// A folder that cannot be made or read.
    case missing(path: String)
  }

  let key: Key

  private let descriptor: Int32

  init(_ path: String) {
    // Bytes: a folder.
    self.descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    self.key = FileNumber(descriptor: self.descriptor).map { .folder($0) } ?? .missing(path: path)
  }

  deinit { if self.descriptor >= 0 { close(self.descriptor) } }
}
