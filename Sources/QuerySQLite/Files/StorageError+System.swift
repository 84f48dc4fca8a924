import Foundation
import Query

extension StorageError {
  /// An error of a system call, with the corresponding code of SQLite.
  ///
  /// - Parameters:
  ///   - number: The value of `errno`.
  ///   - operation: What the storage was doing.
  ///   - path: The file that the call was about.
  package init(errno number: Int32, operation: String, path: String) {
    let code: Code =
      switch number {
      case ENOSPC, EDQUOT: .full
      case EROFS: .readOnly
      case EACCES, EPERM: .permission
      case EIO: .inputOutput
      default: .cannotOpen
      }
    self.init(
      operation: operation, code: code, message: String(cString: strerror(number)),
      fileName: (path as NSString).lastPathComponent)
  }
}
