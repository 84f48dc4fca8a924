import Foundation
import ToolSupport

/// The file of `--keys`: writes of earlier runs, a line of JSON each, to ask for again.
struct KeyFile {
  /// A write that a server has carried out.
  struct Known: Codable, Sendable {
    var url: String
    var method: String
    var key: String
    var at: Date
    var body: Data
    var status: Int
    var answer: Data
  }

  let path: String

  /// The writes that it has; none if there is no such file.
  ///
  /// - Throws: `ToolError` if it is no such file.
  func read() throws -> [Known] {
    guard FileManager.default.fileExists(atPath: self.path) else { return [] }
    do {
      let data = try Data(contentsOf: URL(filePath: self.path))
      return try data.split(separator: UInt8(ascii: "\n")).map {
        try JSONDecoder().decode(Known.self, from: Data($0))
      }
    } catch {
      throw ToolError(.badData, "\(self.path) is no file of keys; check --keys")
    }
  }

  /// Adds one. Nobody else can read the file: it has what was written.
  ///
  /// - Throws: `ToolError` if it cannot be written.
  func add(_ known: Known) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let line = try encoder.encode(known) + Data("\n".utf8)
    let descriptor = open(self.path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw ToolError(
        .inputOutput, "cannot write \(self.path): \(String(cString: strerror(errno)))")
    }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    do { try file.write(contentsOf: line) } catch {
      throw ToolError(.inputOutput, "cannot write \(self.path)")
    }
  }
}
