import CSQLite
import Foundation
import Query
import QueryInspection
import QuerySQLite

/// Looks at the files of a store when nobody else has them: first with SQLite alone, which mends nothing
/// and sets nothing aside, then with the library. A process of its own, which damage may take down.
struct Audit {
  private let folder: String
  private let writers: Int
  private let log: LineLog

  private var store: URL { URL(filePath: "\(self.folder)/store", directoryHint: .isDirectory) }

  /// The file with the results of the next audit.
  static func log(in folder: String) -> String { "\(folder)/audit.log" }

  /// - Parameters:
  ///   - folder: The folder of the bench.
  ///   - writers: How many workers there are.
  /// - Throws: `POSIXError`.
  init(of folder: String, writers: Int) throws {
    (self.folder, self.writers) = (folder, writers)
    self.log = try LineLog(appendingTo: Self.log(in: folder))
  }

  /// Looks at everything.
  ///
  /// - Throws: `StorageError` if the library cannot read what is there.
  func run() async throws {
    try self.names()
    for name in ["cache.sqlite", "mutations.sqlite"] { self.structure(of: name) }
    // It judges what is there, and not how long a loaded machine takes to open a large WAL.
    var configuration = SQLiteQueryStorage.Configuration()
    configuration.busyTimeout = .seconds(300)
    let storage = try SQLiteQueryStorage(directory: self.store, configuration: configuration)
    try self.rows(in: storage)
    try await self.values(in: storage)
    try await storage.close()
    try self.check()
    self.log.append(["done"])
  }

  private func damage(_ text: String) { self.log.append(["damage", text]) }

  /// A file that was set aside was damaged, or taken to be.
  private func names() throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: self.store.path).sorted()
    where name.contains(".sqlite.") || name.contains("salvage") {
      self.damage("\(name) was set aside")
    }
  }
}

// MARK: - SQLite alone

extension Audit {
  private func structure(of name: String) {
    let path = "\(self.store.path)/\(name)"
    guard FileManager.default.fileExists(atPath: path) else { return }
    var database: OpaquePointer?
    defer { sqlite3_close(database) }
    guard sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, nil) == SQLITE_OK else {
      return self.damage("\(name) does not open: \(String(cString: sqlite3_errmsg(database)))")
    }
    for row in self.rows(of: "PRAGMA integrity_check", database, name) where row != "ok" {
      self.damage("\(name), integrity_check: \(row)")
    }
    for row in self.rows(of: "PRAGMA foreign_key_check", database, name) {
      self.damage("\(name), foreign_key_check: \(row)")
    }
  }

  private func rows(of sql: String, _ database: OpaquePointer?, _ name: String) -> [String] {
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    var rows = [String]()
    var code = sqlite3_prepare_v2(database, sql, -1, &statement, nil)
    while code == SQLITE_OK || code == SQLITE_ROW {
      code = sqlite3_step(statement)
      if code == SQLITE_ROW {
        rows.append(
          (0..<sqlite3_column_count(statement)).map { column in
            sqlite3_column_text(statement, column).map { String(cString: $0) } ?? "NULL"
          }
          .joined(separator: ", "))
      }
    }
    if code != SQLITE_DONE {
      self.damage("\(name), \(sql): \(String(cString: sqlite3_errmsg(database)))")
    }
    return rows
  }
}

// MARK: - The library

extension Audit {
  private func rows(in storage: SQLiteQueryStorage) throws {
    for entry in try storage.outbox.entries() {
      guard let note = try? JSONDecoder().decode(LaneNote.self, from: entry.arguments) else {
        self.damage("mutations.sqlite: the arguments of \(entry.id) cannot be read")
        continue
      }
      let isDead = entry.state == .dead
      self.log.append(
        [
          "row", entry.idempotencyKey, isDead ? "dead" : "live",
          isDead ? entry.deadReason?.rawValue ?? "no-reason" : entry.state.rawValue,
        ] + note.mutation.words)
    }
  }

  private func values(in storage: SQLiteQueryStorage) async throws {
    try await storage.prefetch(matching: ["notes"])
    let client = QueryClient(storage: storage)
    for writer in 0..<self.writers {
      for number in 0..<NoteQuery.count {
        let query = NoteQuery(writer: "\(writer)", number: number)
        let store = client.store(for: query.persisted())
        await store.hydrated()
        guard let note = store.currentValue else { continue }
        if let version = note.version(writer: query.writer, number: number) {
          self.log.append(["value", query.name, "\(version)"])
        } else {
          self.damage("cache.sqlite: the value \(query.name) is not whole")
        }
      }
    }
  }

  private func check() throws {
    try StoreInspection(directory: self.store).check { finding in
      // What a killed process leaves until another one sends.
      if finding.kind == .ownerGone || finding.kind == .endedLease { return }
      self.damage("\(finding.file), check: \(finding.kind) \(finding.message)")
    }
  }
}
