import FoundationEssentials
import Glibc
package import Query

/// Copies the readable rows of a damaged outbox, which was set aside, into a new one.
///
/// A note, `mutations.salvage`, exists from before the damaged file loses its name until its rows
/// are committed in the new one: a process that is killed in between leaves it, and the next to
/// open the outbox continues, before any other can. The new file records in the same transaction
/// whose rows it has, so that a kill before the note is removed, or a power cut that brings it
/// back, does no harm.
package struct OutboxSalvage {
  /// The absolute path of the folder.
  let folder: String

  let now: OutboxTime

  private var notePath: String { Self.notePath(in: self.folder) }
  private var files: SetAside { SetAside(kind: .mutations, folder: self.folder) }

  /// The path of a folder's note.
  static func notePath(in folder: String) -> String { "\(folder)/mutations.salvage" }

  /// Whether mutations of a folder are yet to be salvaged, and are in no database until then.
  package static func isPending(in folder: String) -> Bool {
    access(self.notePath(in: folder), F_OK) == 0
  }

  /// The error of a caller that does not salvage, until that is done.
  package static let waiting = StorageError(
    operation: "open", code: .cannotOpen,
    message: "mutations of a damaged file wait to be salvaged; start the application once",
    fileName: DatabaseKind.mutations.fileName)

  /// Whether a salvage is pending.
  var isPending: Bool { Self.isPending(in: self.folder) }
}

// MARK: - The note

extension OutboxSalvage {
  /// Notes that the file is about to be set aside: the note is on disk before the file gets that
  /// name.
  ///
  /// - Throws: `StorageError`.
  func begin(_ name: SetAside.Name) throws(StorageError) {
    // A separate file, which SQLite does not know.
    // Bytes: the note of a salvage.
    let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW
    let descriptor = open(self.notePath, flags, 0o600)
    guard descriptor >= 0 else {
      throw StorageError(errno: errno, operation: "note the salvage", path: self.notePath)
    }
    defer { close(descriptor) }
    let line = Array("\(name.fileName(of: .mutations))\n".utf8)
    guard write(descriptor, line, line.count) == line.count, fsync(descriptor) == 0 else {
      throw StorageError(errno: errno, operation: "note the salvage", path: self.notePath)
    }
    _ = self.files.perform(.synchronise)
  }

  /// Removes the note, on disk too.
  private func end() {
    // Bytes: the note of a salvage.
    unlink(self.notePath)
    _ = self.files.perform(.synchronise)
  }

  /// The files to salvage, the last one set aside first: it records what was salvaged before.
  private func names() throws -> [SetAside.Name] {
    let lines = (try? String(contentsOfFile: self.notePath, encoding: .utf8)) ?? ""
    let noted = lines.split(separator: "\n").compactMap {
      SetAside.Name(fileName: String($0), of: .mutations)
    }
    var names = [SetAside.Name]()
    for name in noted.reversed() where !names.contains(name) { names.append(name) }
    if !names.isEmpty { return names }
    // The note was created, but not written.
    return try self.files.names().filter { $0.reason == .corrupt }.max().map { [$0] } ?? []
  }
}

// MARK: - Salvaging

extension OutboxSalvage {
  /// Makes a new outbox with the readable rows of those that were set aside. Called under the lock,
  /// held exclusively, and with no connection open.
  ///
  /// - Returns: The names of those that were not salvaged before, with their reports.
  /// - Throws: `OpeningFailure`, `StorageError`, if the new one cannot be written: then it must be
  ///   done again.
  @discardableResult
  func finish(with opener: DatabaseOpener) throws -> [(name: String, report: SalvageReport)] {
    guard self.isPending else { return [] }
    let names = try self.names().filter { name in
      // If it was not set aside, the damaged one is still in its place, and is found again.
      guard let number = FileNumber(path: self.files.path(of: name)) else { return false }
      return number != FileNumber(path: opener.path)
    }
    var reports = [(name: String, report: SalvageReport)]()
    if !names.isEmpty {
      let new = try opener.openWriter()
      defer { try? new.close() }
      for name in names {
        let fileName = name.fileName(of: .mutations)
        if let report = try self.salvage(self.files.path(of: name), fileName, new, opener) {
          reports.append((fileName, report))
        }
      }
      try self.deleteOldest(new)
    }
    self.end()
    return reports
  }

  private func salvage(
    _ path: String, _ name: String, _ new: SQLiteConnection, _ opener: DatabaseOpener
  ) throws -> SalvageReport? {
    let isDone = try new.first(SalvageRow.find, name) { _ in true } ?? false
    if isDone { return nil }
    let source = try SalvageSource(path: path, opener)
    return try new.write {
      try OutboxRestoration(from: source, to: new, in: self.folder, now: self.now).run(of: name)
    }
  }

  /// Deletes the oldest of those that were salvaged whole. The others are never deleted: a user or
  /// another release may read what this one cannot.
  private func deleteOldest(_ new: SQLiteConnection) throws {
    let whole = Set(try new.rows(SalvageRow.whole) { try $0.text(at: 0) })
    try self.files.deleteOldest { whole.contains($0.fileName(of: .mutations)) }
  }
}
