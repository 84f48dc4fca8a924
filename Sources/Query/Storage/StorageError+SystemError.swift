import Glibc

extension StorageError {
  /// An error of a system call, with the corresponding code of SQLite.
  ///
  /// - Parameters:
  ///   - number: The value of `errno`.
  ///   - operation: What the storage was doing.
  ///   - fileName: The file that the call was about, without its folder.
  package init(systemError number: Int32, operation: String, fileName: String?) {
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
      fileName: fileName)
  }
}
