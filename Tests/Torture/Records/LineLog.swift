import Foundation

/// A file that several processes append lines to. A line is one `write`, so a killed process leaves
/// it whole or not at all.
final class LineLog: Sendable {
  private let descriptor: Int32

  /// - Parameter path: The file, which is made if it is missing.
  /// - Throws: `POSIXError`.
  init(appendingTo path: String) throws {
    self.descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    if self.descriptor < 0 { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
  }

  deinit { close(self.descriptor) }

  /// Appends a line.
  ///
  /// - Parameter words: What it says. Only the last word may have spaces in it.
  func append(_ words: [String]) {
    let line = words.joined(separator: " ").replacing("\n", with: " ") + "\n"
    let bytes = Array(line.utf8)
    let count = bytes.withUnsafeBytes { write(self.descriptor, $0.baseAddress, $0.count) }
    precondition(count == bytes.count, "the bench's own log cannot be written")
  }

  /// The whole lines of a file, each as words; empty if there is no file.
  ///
  /// - Parameters:
  ///   - path: The file.
  ///   - maximumWords: How many words a line has at most; the last one keeps its spaces.
  static func lines(of path: String, maximumWords: Int = .max) -> [[String]] {
    guard let data = FileManager.default.contents(atPath: path) else { return [] }
    var lines = String(decoding: data, as: UTF8.self)
      .split(separator: "\n", omittingEmptySubsequences: false)
    lines.removeLast()
    return lines.map {
      $0.split(separator: " ", maxSplits: maximumWords - 1).map(String.init)
    }
  }
}
