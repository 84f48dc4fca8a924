import Foundation

extension DatabaseFiles {
  /// Brings the names in a folder to the disk: what was synchronised in a new file is gone without its
  /// name, and a file that was deleted is back.
  ///
  /// Some file systems do not know of it, and nothing can be done there.
  func synchronise(folder: String) {
    // Bytes: a folder.
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if descriptor < 0 { return }
    fsync(descriptor)
    close(descriptor)
  }
}
