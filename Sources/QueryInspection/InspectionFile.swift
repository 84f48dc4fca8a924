import FoundationEssentials
import Glibc
import Query
import QuerySQLite

/// A database file that is only inspected: it never takes a writer's lock on the file, writes,
/// makes or removes nothing beside it, and reads it whatever other processes do with it meanwhile.
///
/// ```swift
/// let file = InspectionFile(kind: .cache, folder: folder)
/// let count = try file.read { try $0.first("SELECT count(*) FROM entries") { try $0.integer(at: 0) } }
/// ```
/// Used by one thread at a time.
final class InspectionFile {
  /// Which database.
  let kind: DatabaseKind

  /// The absolute path of its folder.
  let folder: String

  /// How long to wait in all for a readable state of the file.
  var patience = Duration.seconds(10)

  private var session: InspectionSession?

  init(kind: DatabaseKind, folder: String) {
    self.kind = kind
    self.folder = folder
  }

  /// The path of the file.
  var path: String { "\(self.folder)/\(self.kind.fileName)" }

  /// Whether there is a file with content. A file that was made but not yet written does not count.
  /// If mutations are yet to be salvaged there is one, which cannot be read before that is done.
  ///
  /// - Throws: `InspectionError` (unavailable) if its folder cannot be read.
  var exists: Bool {
    get throws(InspectionError) {
      if self.waitsForSalvage { return true }
      var status = stat()
      let number = stat(self.path, &status) == 0 ? 0 : errno
      if number == 0 && status.st_mode & S_IFMT == S_IFREG { return status.st_size > 0 }
      if [ENOENT, ENOTDIR].contains(number) { return false }
      throw .unavailable(
        StorageError(
          errno: number == 0 ? EISDIR : number, operation: "look at", path: self.path))
    }
  }

  private var waitsForSalvage: Bool {
    self.kind == .mutations && OutboxSalvage.isPending(in: self.folder)
  }

  /// How the file is read now; nil before the first ``read(_:)``.
  var access: InspectionSession.Access? { self.session?.access }

  /// Closes the file. The next ``read(_:)`` opens it again.
  func close() { self.session = nil }

  /// Runs a closure whose reads all see one state of the database. If an application has opened the
  /// file while that was not protected, the closure runs again, from the start: it must only read,
  /// and for no longer than a second.
  ///
  /// - Throws: `InspectionError`, also for an error of the closure.
  func read<R>(_ body: (SQLiteConnection) throws -> R) throws(InspectionError) -> R {
    let start = SuspendingClock.now
    var round: Int32 = 0
    while true {
      let result = Result { try self.attempt(body) }
      switch result {
      case .success(.some(let value)): return value
      case .success(.none): self.session = nil
      case .failure(let error):
        self.session = nil
        // The same as for a file that has no byte yet.
        if (error as? OpeningFailure)?.kind == .blank { throw .noStore(folders: [self.folder]) }
        if SuspendingClock.now - start >= min(self.patience, Self.patience(with: error)) {
          throw InspectionError(any: error, operation: "read")
        }
      }
      // A slow closure may have been the cause once.
      guard SuspendingClock.now - start < self.patience || round < 3 else {
        throw .unavailable(self.restless)
      }
      LockWait.sleep(round: round)
      round += 1
    }
  }

  /// Reads once.
  ///
  /// - Returns: nil if the reads may belong to two states.
  private func attempt<R>(_ body: (SQLiteConnection) throws -> R) throws -> R? {
    guard try self.exists else { throw InspectionError.noStore(folders: [self.folder]) }
    // It would look as if nothing were unsent.
    if self.waitsForSalvage { throw OutboxSalvage.waiting }
    let session = try self.session ?? InspectionSession(kind: self.kind, folder: self.folder)
    self.session = session
    guard try session.isCurrent() else { return nil }
    let result = Result { try session.connection.read { try body(session.connection) } }
    // Reads of two states may look like damage.
    guard session.isWhole, !self.waitsForSalvage else { return nil }
    return try result.get()
  }

  /// How long an error may be temporary: files come and go while an application opens or closes
  /// them.
  private static func patience(with error: any Error) -> Duration {
    let failure = error as? OpeningFailure
    guard let error = (error as? StorageError) ?? failure?.error, failure?.kind != .refused else {
      return .zero
    }
    switch error.code {
    case .busy, .locked: return .seconds(10)
    // The shm has no readable state yet: the process that made it writes it at once.
    case .readOnly where error.extendedCode != .readOnly: return .seconds(10)
    // The process that closed the file has removed the shm or the WAL; or there is no permission.
    case .cannotOpen where error.operation != "look at": return .milliseconds(500)
    default: return .zero
    }
  }

  private var restless: StorageError {
    StorageError(
      operation: "read", code: .busy,
      message: "applications open and close the store all the time; try again",
      fileName: self.kind.fileName)
  }
}
