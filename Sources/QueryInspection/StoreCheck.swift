import FoundationEssentials
import Query
import QuerySQLite

/// Looks for faults in a store, one file after the other, and one part of it after the other.
///
/// A read transaction covers some rows, so that it blocks no checkpoint for long; except SQLite's
/// own check, which must see the whole file.
struct StoreCheck {
  let store: StoreInspection
  /// The account; nil: all.
  let partition: String?
  let progress: (InspectionProgress) throws -> Void
  let found: (InspectionFinding) throws -> Void

  /// How many rows are read in one transaction.
  static let rowsPerRead = 500

  /// Runs the check.
  ///
  /// - Throws: `InspectionError` if a file cannot be read now, or the account is unknown; errors of the
  ///   closures.
  func run() throws {
    try self.requirePartition()
    for kind in DatabaseKind.allCases where try self.store.file(kind).exists {
      guard try self.check(opening: kind) else { continue }
      do {
        try self.checkStructure(of: kind)
        switch kind {
        case .cache: try self.checkCache()
        case .mutations: try self.checkMutations()
        }
      } catch InspectionError.damaged(let error) {
        try self.report(.unreadableFile, kind, error.description)
      }
    }
  }

  /// Throws if no account has the name. Of a file that cannot be read the check says why.
  private func requirePartition() throws(InspectionError) {
    do throws(InspectionError) {
      try self.store.require(partition: self.partition)
    } catch .foreign, .newer, .damaged {
    }
  }

  /// Reports a finding.
  func report(
    _ finding: InspectionFinding.Kind, _ kind: DatabaseKind, _ message: String,
    partition: String? = nil, subject: String? = nil
  ) throws {
    try self.found(
      InspectionFinding(
        kind: finding, file: kind.fileName, partition: partition, subject: subject,
        message: message))
  }

  /// Reports the findings of one transaction, after it.
  func report(_ findings: [InspectionFinding]) throws {
    for finding in findings { try self.found(finding) }
  }

  /// Whether a file can be opened.
  private func check(opening kind: DatabaseKind) throws -> Bool {
    do {
      try self.store.file(kind).read { _ in }
      return true
    } catch InspectionError.foreign(let error) {
      try self.report(.foreignFile, kind, error.message)
    } catch InspectionError.newer(_, let error) {
      try self.report(.newerFile, kind, error.message)
    } catch InspectionError.damaged(let error) {
      try self.report(.unreadableFile, kind, error.message)
    }
    return false
  }
}

// MARK: - Structure

extension StoreCheck {
  private static let references: SQL = """
    SELECT "table", rowid, parent FROM pragma_foreign_key_check
    """

  /// Not those whose target is not there: it has ended or was erased, and a writer has left the rest of
  /// that work for another transaction. A number below zero stands for such a target.
  private static let dangling: SQL = """
    SELECT DISTINCT dependant FROM dependencies
    WHERE dependant > 0 AND dependant NOT IN (SELECT number FROM outbox) LIMIT 20
    """
  private static let integrity: SQL = "PRAGMA integrity_check(100)"

  /// Runs SQLite's check of the structure, and looks for rows that refer to rows that do not exist.
  private func checkStructure(of kind: DatabaseKind) throws {
    try self.progress(
      InspectionProgress(step: "structure of \(kind.fileName)", done: 0, total: nil))
    let findings = try self.store.file(kind).read { connection in
      var findings = [InspectionFinding]()
      func add(_ finding: InspectionFinding.Kind, _ message: String) {
        findings.append(
          InspectionFinding(
            kind: finding, file: kind.fileName, partition: nil, subject: nil, message: message))
      }
      for line in try connection.rows(Self.integrity, read: { try $0.text(at: 0) })
      where line != "ok" {
        add(.integrity, line)
      }
      // A table that cannot be read would only be reported again.
      if !findings.isEmpty { return findings }
      let broken = try connection.rows(Self.references) { row in
        (try row.text(at: 0), try row.optionalInteger(at: 1), try row.text(at: 2))
      }
      for (table, row, parent) in broken where table != "pages" && table != "dependencies" {
        let place = row.map { "row \($0) of " } ?? ""
        add(.missingReference, "\(place)\(table) names a row of \(parent) that is not there")
      }
      if kind == .mutations {
        for number in try connection.rows(Self.dangling, read: { try $0.integer(at: 0) }) {
          add(.missingReference, "dependencies names mutation \(number), which is not there")
        }
      }
      return findings
    }
    try self.report(findings)
  }
}

extension StoreInspection {
  /// Looks for faults.
  ///
  /// - Parameters:
  ///   - partition: The account whose rows are checked; nil: all.
  ///   - progress: Called now and then.
  ///   - found: Called with each finding, as it is found.
  /// - Throws: `InspectionError` if a file cannot be read now, or the account is unknown; errors of
  ///   the closures. A damaged file is a finding.
  /// - Complexity: O(*n*) in the bytes of the files.
  package func check(
    _ partition: String? = nil,
    progress: (InspectionProgress) throws -> Void = { _ in },
    found: (InspectionFinding) throws -> Void
  ) throws {
    try withoutActuallyEscaping(progress) { progress in
      try withoutActuallyEscaping(found) { found in
        try StoreCheck(store: self, partition: partition, progress: progress, found: found).run()
      }
    }
  }
}
