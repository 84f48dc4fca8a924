import Query

extension SQLiteConnection {
  /// Identifies the file among all that were at its path, as long as it is there itself; nil if it
  /// was moved away.
  ///
  /// - Throws: `StorageError`.
  var fileNumber: FileNumber? {
    get throws(StorageError) {
      guard let number = FileNumber(path: self.path), try !self.hasMoved else { return nil }
      return number
    }
  }
}
