import Foundation

extension DatabaseFiles {
  /// Syncs the names in a folder: without its name a new file is gone, even if its content was
  /// synced, and a deleted file is back.
  ///
  /// Some file systems do not support it, and nothing can be done there.
  package func synchronise(folder: String) {
    // Bytes: a folder.
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if descriptor < 0 { return }
    fsync(descriptor)
    close(descriptor)
  }
}
