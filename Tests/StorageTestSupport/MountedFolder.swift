import Foundation
import Glibc

/// A small file system of its own in memory, if this process may mount one. It is unmounted with
/// the last reference to it.
package final class MountedFolder: Sendable {
  /// Whether this process may mount file systems: nearly always, whether it is root.
  package static let isPossible = (try? MountedFolder(bytes: 1 << 16)) != nil

  private let folder: TemporaryFolder

  /// The absolute path.
  package var path: String { self.folder.path }

  /// - Parameter bytes: How much there is room for.
  /// - Throws: `POSIXError` if it cannot be mounted.
  package init(bytes: Int) throws {
    self.folder = try TemporaryFolder()
    let result = mount("tmpfs", self.folder.path, "tmpfs", 0, "size=\(bytes),mode=0700")
    if result != 0 { throw POSIXError(.init(rawValue: errno) ?? .EPERM) }
  }

  deinit { umount2(self.folder.path, Int32(MNT_DETACH)) }

  /// Makes the file system one that can only be read, or can be written again.
  ///
  /// - Throws: `POSIXError`, for example if a file is open for writing.
  package func setReadOnly(_ isReadOnly: Bool) throws {
    let flags = UInt(MS_REMOUNT) | (isReadOnly ? UInt(MS_RDONLY) : 0)
    // A file that was closed just now may be busy for a moment.
    for round in 1...200 {
      if mount("tmpfs", self.path, "tmpfs", flags, nil) == 0 { return }
      if errno != EBUSY || round == 200 { throw POSIXError(.init(rawValue: errno) ?? .EPERM) }
      usleep(10_000)
    }
  }

  /// Fills it to the last byte, with one file.
  package func fill() throws {
    let file = open("\(self.path)/ballast", O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
    defer { close(file) }
    let bytes = [UInt8](repeating: 1, count: 4_096)
    while write(file, bytes, bytes.count) > 0 {}
    if errno != ENOSPC { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
  }

  /// Removes the file that fills it.
  package func makeRoom() { unlink("\(self.path)/ballast") }
}
