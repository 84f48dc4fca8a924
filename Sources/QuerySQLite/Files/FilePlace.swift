import Foundation

/// A name in a folder that is held open: whether a file is still what has it can be asked in a third of
/// the time that a path takes.
///
/// That the folder itself was moved does not show here.
final class FilePlace {
  private let descriptor: Int32
  private let name: String
  private let number: FileNumber

  /// Holds the folder of a file.
  ///
  /// - Parameters:
  ///   - folder: The path of the folder.
  ///   - name: The file's name in it.
  ///   - number: What tells the file from others.
  /// - Returns: nil where the folder cannot be opened.
  init?(folder: String, name: String, number: FileNumber) {
    // Bytes: a folder.
    self.descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    (self.name, self.number) = (name, number)
    if self.descriptor < 0 { return nil }
  }

  deinit { if self.descriptor >= 0 { close(self.descriptor) } }

  /// Whether the name is still the file's.
  var isKept: Bool { FileNumber(name: self.name, in: self.descriptor) == self.number }
}
