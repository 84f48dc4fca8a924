import Foundation

/// A folder that is removed with the object.
final class ScratchFolder: Sendable {
  let url: URL

  var path: String { self.url.path }

  init() throws {
    self.url = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: self.url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: self.url) }

  /// Writes a file, and returns its URL.
  func file(_ name: String, _ data: Data) throws -> URL {
    let url = self.url.appending(path: name)
    try data.write(to: url)
    return url
  }

  var names: Set<String> {
    Set((try? FileManager.default.contentsOfDirectory(atPath: self.url.path)) ?? [])
  }
}
