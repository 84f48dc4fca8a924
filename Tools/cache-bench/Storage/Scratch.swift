import Foundation
import Query

/// The folder that this program makes its databases in. It goes with the program.
enum Scratch {
  private static let made = Locked<URL?>(nil)

  // Only kept alive: nothing calls them once they are resumed.
  nonisolated(unsafe) private static let signals = [SIGINT, SIGTERM, SIGHUP].map { number in
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number)
    source.setEventHandler {
      Self.remove()
      // Nothing that is written at an exit is wanted.
      _exit(128 + number)
    }
    source.resume()
    return source
  }

  /// A new folder in it.
  static func makeFolder(_ name: String) throws -> URL {
    let root = try self.made.withLock { made in
      if let made { return made }
      let root = FileManager.default.temporaryDirectory
        .appendingPathComponent("cache-bench-\(getpid())")
      try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
      made = root
      return root
    }
    _ = self.signals
    let folder = root.appendingPathComponent(name)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    return folder
  }

  /// Removes it.
  static func remove() {
    guard let root = self.made.withLock({ $0 }) else { return }
    try? FileManager.default.removeItem(at: root)
  }
}
