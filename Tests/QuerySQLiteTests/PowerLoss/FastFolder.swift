import Foundation

/// A folder in memory, if the machine has one, that is removed with the last reference to it:
/// durability in it is simulated.
final class FastFolder: Sendable {
  /// The absolute path, without links in it.
  let path: String

  init() throws {
    let root = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NSTemporaryDirectory()
    let template = URL(filePath: root).resolvingSymlinksInPath().appending(path: "power-XXXXXX")
    var bytes = Array(template.path.utf8CString)
    guard mkdtemp(&bytes) != nil else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    self.path = String(decoding: bytes.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit { try? FileManager.default.removeItem(atPath: self.path) }
}
