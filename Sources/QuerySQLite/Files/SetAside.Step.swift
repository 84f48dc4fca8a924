import Foundation

extension SetAside {
  /// One thing that is done to the folder, whole or not at all.
  enum Step: Hashable, Sendable {
    /// Gives a file a second name.
    case link(String, String)
    /// Gives a file another name, in the place of any file that has it.
    case rename(String, String)
    /// Takes a name away.
    case unlink(String)
    /// Waits until what was done is on the disk, as far as the file system does that.
    case synchronise
  }

  /// Does a step.
  ///
  /// - Returns: 0, or what `errno` is.
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
