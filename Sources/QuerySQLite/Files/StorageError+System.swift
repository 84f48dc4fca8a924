import FoundationEssentials
import Glibc
import Query

extension StorageError {
  /// An error of a system call, with the corresponding code of SQLite.
  ///
  /// - Parameters:
  ///   - number: The value of `errno`.
  ///   - operation: What the storage was doing.
  ///   - path: The file that the call was about.
  package init(errno number: Int32, operation: String, path: String) {
    self.init(
      systemError: number, operation: operation, fileName: FilePath.name(of: path))
  }
}
