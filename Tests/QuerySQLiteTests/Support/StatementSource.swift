import Foundation

/// A statement in the source of the library, private ones included, which no test can name.
struct StatementSource {
  /// The type and the declaration that it stands in: `EntryRow.read`.
  let name: String
  let text: String

  /// Whether parts of it are known only when the program runs.
  var isAssembled: Bool { self.text.contains("\\(") }

  /// All statements of `Sources/QuerySQLite`: texts that begin as a statement does, and those that are
  /// assembled.
  static func all() throws -> [StatementSource] {
    let folder = Self.root.appending(path: "Sources/QuerySQLite")
    return try Self.swiftFiles(in: folder).flatMap { try Self.statements(in: $0) }
  }

  /// The text of all tests that assert the plans of statements by name.
  static func textOfPlanTests() throws -> String {
    try Self.swiftFiles(in: Self.root.appending(path: "Tests/QuerySQLiteTests"))
      .filter { $0.lastPathComponent.hasSuffix("PlansTests.swift") }
      .map { try String(contentsOf: $0, encoding: .utf8) }.joined()
  }

  private static var root: URL {
    var root = URL(filePath: #filePath)
    for _ in 0..<4 { root.deleteLastPathComponent() }
    return root
  }

  private static func swiftFiles(in folder: URL) -> [URL] {
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    return (files?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "swift" }
      .sorted { $0.path < $1.path }
  }
}

// MARK: - Scanning

extension StatementSource {
  private static let verbs = ["SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH"]

  private static func statements(in file: URL) throws -> [StatementSource] {
    var statements = [StatementSource]()
    var (type, declaration, isWords, isAssembling) = ("", "", false, false)
    var open: [Substring]?
    for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
      let trimmed = line.drop { $0 == " " }
      var text: String?
      if open != nil {
        if trimmed.hasPrefix("\"\"\"") {
          text = open?.joined(separator: "\n")
          open = nil
        } else {
          open?.append(trimmed)
        }
      } else if !trimmed.hasPrefix("//") {
        if let match = line.firstMatch(
          of: /^(?:[a-z@]+ )*(?:extension|struct|enum|class|actor) ([\w.]+)/)
        {
          type = String(match.1)
        }
        if let match = line.firstMatch(of: /^ +(?:[a-z]+ )*(?:static (?:let|var)|func) (\w+)(.*)/) {
          (declaration, isWords) = (String(match.1), match.2.contains("SQL.Words"))
        }
        isAssembling = isAssembling || line.contains("SQL(")
        if line.hasSuffix("\"\"\"") {
          open = []
        } else if let match = line.firstMatch(of: /"((?:[^"\\]|\\\([^)]*\)|\\.)+)"/) {
          text = String(match.1)
        }
      }
      guard let text else { continue }
      let isStatement = isAssembling || Self.verbs.contains { text.hasPrefix("\($0) ") }
      if isStatement && !isWords {
        statements.append(StatementSource(name: "\(type).\(declaration)", text: text))
      }
      isAssembling = false
    }
    return statements
  }
}
