import Foundation
import Glibc

/// A file system of its own in memory, which can be filled. It is unmounted with the last reference to it.
final class SmallDisk: Sendable {
  private let path: String

  private var ballast: String { "\(self.path)/ballast" }

  /// - Parameters:
  ///   - path: The folder that it is mounted on.
  ///   - bytes: How much there is room for.
  /// - Throws: `POSIXError` if this process may not mount one: nearly always, unless it is root.
  init(at path: String, bytes: Int) throws {
    self.path = path
    if mount("tmpfs", path, "tmpfs", 0, "size=\(bytes),mode=0700") != 0 {
      throw POSIXError(.init(rawValue: errno) ?? .EPERM)
    }
  }

  deinit { umount2(self.path, Int32(MNT_DETACH)) }

  /// Fills it to the last byte.
  func fill() {
    let file = open(self.ballast, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
    defer { close(file) }
    let bytes = [UInt8](repeating: 1, count: 4_096)
    while write(file, bytes, bytes.count) > 0 {}
  }

  /// Makes room again.
  func makeRoom() { unlink(self.ballast) }
}
