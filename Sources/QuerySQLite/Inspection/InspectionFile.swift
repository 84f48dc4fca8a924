import Foundation
import Query

/// A database file that is only looked into: no lock of a writer is ever taken on it, nothing is
/// written, made or removed beside it, and it is read whatever others do with it meanwhile.
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

  /// How long is waited, all of it together, for a state of the file that can be read.
  var patience = Duration.seconds(10)

  private var session: InspectionSession?

  init(kind: DatabaseKind, folder: String) {
    self.kind = kind
    self.folder = folder
  }

  /// Where the file is.
  var path: String { "\(self.folder)/\(self.kind.fileName)" }

  /// Whether there is a file with something in it. One that was made and not yet written is none. Where
  /// mutations wait to be salvaged there is one, which cannot be read before that is done.
  ///
  /// - Throws: `InspectionError` (unavailable) where its folder cannot be looked into.
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

  /// How the file is read at the moment; nil before the first ``read(_:)``.
  var access: InspectionSession.Access? { self.session?.access }

  /// Lets go of the file. The next ``read(_:)`` opens it again.
  func close() { self.session = nil }

  /// Runs a closure whose reads all see one state of the database. Where an application has opened the
  /// file while that was not protected, the closure runs again, from the start: it must do nothing but
  /// read, and not for longer than a second.
  ///
  /// - Throws: `InspectionError`; an error of the closure is sorted into it too.
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
        // As one that has no byte yet.
        if (error as? OpeningFailure)?.kind == .blank { throw .noStore(folders: [self.folder]) }
        if SuspendingClock.now - start >= min(self.patience, Self.patience(with: error)) {
          throw InspectionError(any: error, operation: "read")
        }
      }
      // A closure that takes its time may have been in the way once.
      guard SuspendingClock.now - start < self.patience || round < 3 else {
        throw .unavailable(self.restless)
      }
      BusyHandler.sleep(round: round)
      round += 1
    }
  }

  /// Reads once.
  ///
  /// - Returns: nil where what was read may be of two states.
  private func attempt<R>(_ body: (SQLiteConnection) throws -> R) throws -> R? {
    guard try self.exists else { throw InspectionError.noStore(folders: [self.folder]) }
    // It would look as if nothing were unsent.
    if self.waitsForSalvage { throw OutboxSalvage.waiting }
    let session = try self.session ?? InspectionSession(kind: self.kind, folder: self.folder)
    self.session = session
    guard try session.isCurrent() else { return nil }
    let result = Result { try session.connection.read { try body(session.connection) } }
    // What was read of two states may look damaged.
    guard session.isWhole, !self.waitsForSalvage else { return nil }
    return try result.get()
  }

  /// How long an error may be of the moment: files come and go while an application opens or closes
  /// them.
  private static func patience(with error: any Error) -> Duration {
    let failure = error as? OpeningFailure
    guard let error = (error as? StorageError) ?? failure?.error, failure?.kind != .refused else {
      return .zero
    }
    switch error.code {
    case .busy, .locked: return .seconds(10)
    // The shm has no state yet that can be read: who has made it writes it at once.
    case .readOnly where error.extendedCode != .readOnly: return .seconds(10)
    // The shm or the WAL was removed by who closed the file; or there is no permission.
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
