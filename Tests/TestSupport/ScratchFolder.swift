public import Foundation

/// A folder that is removed with the object.
public final class ScratchFolder: Sendable {
  /// Its URL.
  public let url: URL

  /// Its path.
  public var path: String { self.url.path }

  /// Makes a new folder.
  public init() throws {
    self.url = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: self.url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: self.url) }

  /// Writes a file, and returns its URL.
  public func file(_ name: String, _ data: Data) throws -> URL {
    let url = self.url.appending(path: name)
    try data.write(to: url)
    return url
  }

  /// The names of its files.
  public var names: Set<String> {
    Set((try? FileManager.default.contentsOfDirectory(atPath: self.url.path)) ?? [])
  }
}
