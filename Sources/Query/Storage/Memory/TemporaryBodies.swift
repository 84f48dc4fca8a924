import FoundationEssentials
import Glibc

/// The files of an outbox in memory: a temporary folder, which is removed with the object.
final class TemporaryBodies: Sendable {
  let folder: BodyFolder

  init() {
    let name = "query-bodies-\(UUID.random().uuidString)"
    let path = FileManager.default.temporaryDirectory.appending(path: name).path
    self.folder = BodyFolder(
      path: path,
      make: {
        if mkdir(path, 0o700) == 0 || errno == EEXIST { return }
        throw StorageError(systemError: errno, operation: "make the folder", fileName: name)
      }, makeHash: { FNV1a() })
  }

  deinit {
    for name in self.folder.names { self.folder.remove(name) }
    rmdir(self.folder.path)
  }
}
