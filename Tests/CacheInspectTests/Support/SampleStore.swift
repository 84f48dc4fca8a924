import Foundation
import QueryInspection
import QuerySQLite
import Testing

/// A store with entries and mutations of every kind, whose dates and identifiers are always the same:
/// that of the fixture `Golden/store.jsonl`. It is removed with the last reference to it.
final class SampleStore: Sendable {
  /// The absolute path of its folder.
  let path: String

  /// - Parameter isEmpty: Whether the folder has no store.
  init(isEmpty: Bool = false) throws {
    let template = FileManager.default.temporaryDirectory.appending(path: "cache-inspect-XXXXXX")
    var bytes = Array(template.path.utf8CString)
    guard mkdtemp(&bytes) != nil else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    self.path = String(decoding: bytes.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    if isEmpty { return }
    _ = try StoreMaintenance(directory: URL(filePath: self.path)).importExport(
      at: Self.golden("store.jsonl"), withOutbox: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: self.path) }

  /// Runs the tool on the store.
  func inspect(
    _ arguments: String..., input: String? = nil
  ) async throws -> InspectorRun {
    try await InspectorRun(arguments + ["--store", self.path], input: input)
  }

  /// The path of a file of the fixtures.
  static func golden(_ name: String) -> String {
    URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "Golden/\(name)").path
  }

  /// Compares lines with a file of the fixtures; if `GOLDEN=write` is set, writes it.
  static func expectGolden(
    _ lines: [String], _ name: String, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let text = lines.map { $0 + "\n" }.joined()
    let url = URL(filePath: Self.golden(name))
    if ProcessInfo.processInfo.environment["GOLDEN"] == "write" {
      try Data(text.utf8).write(to: url)
    }
    let golden = try String(contentsOf: url, encoding: .utf8)
    #expect(text == golden, "\(name)", sourceLocation: sourceLocation)
  }
}
