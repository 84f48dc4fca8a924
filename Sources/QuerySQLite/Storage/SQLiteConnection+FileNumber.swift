import Foundation
import Query

extension SQLiteConnection {
  /// What tells the file from others that were at its path, as long as it is there itself; nil where it
  /// was moved away.
  ///
  /// - Throws: `StorageError`.
  var fileNumber: UInt64? {
    get throws(StorageError) {
      var status = stat()
      guard stat(self.path, &status) == 0, try !self.hasMoved else { return nil }
      return UInt64(status.st_ino)
    }
  }
}
