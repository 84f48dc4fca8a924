import Foundation

extension SetAside {
  /// One change to the folder, done entirely or not at all.
  enum Step: Hashable, Sendable {
    /// Gives a file a second name.
    case link(String, String)
    /// Renames a file, replacing any file that has the new name.
    case rename(String, String)
    /// Removes a name.
    case unlink(String)
    /// Waits until the changes are on disk, as far as the file system does that.
    case synchronise
  }

  /// Does a step.
  ///
  /// - Returns: 0, or `errno`.
  func perform(_ step: Step) -> Int32 {
    switch step {
    case .link(let old, let new): return self.link(old, new)
    // Bytes: none change, and under the exclusive lock no process has the file open.
    case .rename(let old, let new): return rename(old, new) == 0 ? 0 : errno
    case .unlink(let path): return unlink(path) == 0 || errno == ENOENT ? 0 : errno
    case .synchronise:
      DatabaseFiles().synchronise(folder: self.folder)
      return 0
    }
  }
}
