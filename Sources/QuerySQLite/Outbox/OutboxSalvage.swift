import Foundation
import Query

/// Copies what can be read of a damaged outbox, which was set aside, into a new one.
///
/// A note, `mutations.salvage`, is there from before the damaged file loses its name until its rows are
/// committed in the new one: who is killed in between leaves it, and who opens the outbox next goes on,
/// before anybody else can.
struct OutboxSalvage {
  /// The absolute path of the folder.
  let folder: String

  let now: OutboxTime

  private var notePath: String { "\(self.folder)/mutations.salvage" }

  /// Whether something is to be salvaged yet.
  var isPending: Bool { access(self.notePath, F_OK) == 0 }

  /// Notes that the file is about to be set aside.
  ///
  /// - Throws: `StorageError`.
  func begin() throws { try DatabaseFiles().makeFile(self.notePath) }

  /// Forgets the note.
  func end() { unlink(self.notePath) }

  /// Makes a new outbox with what can be read of the one that was set aside last. Under the lock,
  /// exclusively, and with no connection open.
  ///
  /// - Returns: What came of it; nil where nothing was to be salvaged.
  /// - Throws: `OpeningFailure`, `StorageError`, where the new one cannot be written: then it is to be
  ///   done again.
  @discardableResult
  func finish(with opener: DatabaseOpener) throws -> SalvageReport? {
    guard self.isPending else { return nil }
    let files = SetAside(kind: .mutations, folder: self.folder)
    // Where none was set aside, the damaged one is still at its place, and is found again.
    guard let name = try files.names().filter({ $0.reason == .corrupt }).max() else {
      self.end()
      return nil
    }
    if access(opener.path, F_OK) == 0, self.isKeptWhole(files.path(of: name), opener.path) {
      self.end()
      return nil
    }
    let new = try opener.openWriter()
    defer { try? new.close() }
    var report = SalvageReport()
    do {
      let old = try self.openOld(files.path(of: name), opener)
      defer { try? old.close() }
      let source = SalvageSource(old)
      try new.write {
        report = try OutboxRestoration(from: source, to: new, now: self.now).run()
      }
    } catch let error as StorageError where error.operation == "open" {
      report.lost.append("the whole file (\(error.message))")
    }
    self.end()
    return report
  }

  /// Whether two names are of one file: then it was not set aside.
  private func isKeptWhole(_ first: String, _ second: String) -> Bool {
    guard let number = FileNumber(path: first) else { return false }
    return number == FileNumber(path: second)
  }

  /// Opens the damaged file, without a word of its own being written to it.
  private func openOld(
    _ path: String,
    _ opener: DatabaseOpener
  ) throws(StorageError) -> SQLiteConnection {
    var options = opener.options
    options.isReadOnly = true
    options.checkpointsOnClose = false
    let connection = try SQLiteConnection(path: path, options: options)
    do {
      try connection.pragma("PRAGMA query_only = 1")
      // Rows that stand in the right order are read although something else is wrong with their page.
      try connection.pragma("PRAGMA cell_size_check = 0")
      return connection
    } catch {
      try? connection.close()
      throw StorageError(
        operation: "open", code: error.extendedCode, message: error.message,
        fileName: error.fileName)
    }
  }
}

/// What came of a salvage.
struct SalvageReport {
  /// How many live and dead mutations were read.
  var rows = 0

  /// How many that had ended.
  var ended = 0

  /// What was there and could not be read, each in a few words.
  var lost = [String]()

  /// The report for a person.
  var words: String {
    let kept = "\(self.rows) mutations and \(self.ended) ended ones were salvaged"
    if self.lost.isEmpty { return "\(kept), and nothing is known to be lost" }
    let named = self.lost.prefix(50).joined(separator: ", ")
    let rest = self.lost.count > 50 ? " and \(self.lost.count - 50) more" : ""
    return "\(kept); not readable: \(named)\(rest)"
  }
}
