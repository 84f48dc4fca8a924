import Foundation

/// A folder that is removed with the last reference to it.
package final class TemporaryFolder: Sendable {
  /// The absolute path.
  package let path: String

  package init() throws {
    let template = FileManager.default.temporaryDirectory.appending(path: "query-sqlite-XXXXXX")
    var bytes = Array(template.path.utf8CString)
    guard mkdtemp(&bytes) != nil else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    self.path = String(decoding: bytes.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Takes over a folder that another process has made.
  package init(path: String) { self.path = path }

  deinit { try? FileManager.default.removeItem(atPath: self.path) }
}
