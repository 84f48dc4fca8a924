import Foundation
import Query

/// Copies what can be read of a damaged outbox, which was set aside, into a new one.
///
/// A note, `mutations.salvage`, is there from before the damaged file loses its name until its rows are
/// committed in the new one: who is killed in between leaves it, and who opens the outbox next goes on,
/// before anybody else can. The new one says in the same transaction whose rows it has, so that whoever is
/// killed before the note is gone, even by a power cut that brings it back, does no harm.
struct OutboxSalvage {
  /// The absolute path of the folder.
  let folder: String

  let now: OutboxTime

  private var notePath: String { Self.notePath(in: self.folder) }
  private var files: SetAside { SetAside(kind: .mutations, folder: self.folder) }

  /// Where the note of a folder is.
  static func notePath(in folder: String) -> String { "\(folder)/mutations.salvage" }

  /// Whether mutations of a folder wait to be salvaged, and are in no database until then.
  static func isPending(in folder: String) -> Bool { access(self.notePath(in: folder), F_OK) == 0 }

  /// What whoever does not salvage is told until that is done.
  static let waiting = StorageError(
    operation: "open", code: .cannotOpen,
    message: "mutations of a damaged file wait to be salvaged; start the application once",
    fileName: DatabaseKind.mutations.fileName)

  /// Whether something is to be salvaged yet.
  var isPending: Bool { Self.isPending(in: self.folder) }
}

// MARK: - The note

extension OutboxSalvage {
  /// Notes that the file is about to be set aside: its name is on the disk before it gets it.
  ///
  /// - Throws: `StorageError`.
  func begin(_ name: SetAside.Name) throws(StorageError) {
    // Its own file, which no SQLite knows.
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

  /// Forgets the note, on the disk too.
  private func end() {
    // Bytes: the note of a salvage.
    unlink(self.notePath)
    _ = self.files.perform(.synchronise)
  }

  /// What is to be salvaged, what was set aside last first: it knows what was salvaged before.
  private func names() throws -> [SetAside.Name] {
    let lines = (try? String(contentsOfFile: self.notePath, encoding: .utf8)) ?? ""
    let noted = lines.split(separator: "\n").compactMap {
      SetAside.Name(fileName: String($0), of: .mutations)
    }
    var names = [SetAside.Name]()
    for name in noted.reversed() where !names.contains(name) { names.append(name) }
    if !names.isEmpty { return names }
    // It was made, and not written.
    return try self.files.names().filter { $0.reason == .corrupt }.max().map { [$0] } ?? []
  }
}

// MARK: - Salvaging

extension OutboxSalvage {
  /// Makes a new outbox with what can be read of those that were set aside. Under the lock, exclusively,
  /// and with no connection open.
  ///
  /// - Returns: The names, and what came of each that was not salvaged before.
  /// - Throws: `OpeningFailure`, `StorageError`, where the new one cannot be written: then it is to be
  ///   done again.
  @discardableResult
  func finish(with opener: DatabaseOpener) throws -> [(name: String, report: SalvageReport)] {
    guard self.isPending else { return [] }
    let names = try self.names().filter { name in
      // Where it was not set aside, the damaged one is still at its place, and is found again.
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
      try OutboxRestoration(from: source, to: new, now: self.now).run(of: name)
    }
  }

  /// Deletes the oldest of those of which all is here. Of the others none is ever deleted: what this
  /// release cannot read, a person or another one may.
  private func deleteOldest(_ new: SQLiteConnection) throws {
    let whole = Set(try new.rows(SalvageRow.whole) { try $0.text(at: 0) })
    try self.files.deleteOldest { whole.contains($0.fileName(of: .mutations)) }
  }
}
