import Foundation

/// A name in a folder that is held open: checking whether it still belongs to a file takes a third
/// of the time that a path takes.
///
/// It does not notice that the folder itself was moved.
final class FilePlace {
  private let descriptor: Int32
  private let name: String
  private let number: FileNumber

  /// Holds the folder of a file open.
  ///
  /// - Parameters:
  ///   - folder: The path of the folder.
  ///   - name: The file's name in it.
  ///   - number: Identifies the file.
  /// - Returns: nil if the folder cannot be opened.
  init?(folder: String, name: String, number: FileNumber) {
    // Bytes: a folder.
    self.descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    (self.name, self.number) = (name, number)
    if self.descriptor < 0 { return nil }
  }

  deinit { if self.descriptor >= 0 { close(self.descriptor) } }

  /// Whether the name still belongs to the file.
  var isKept: Bool { FileNumber(name: self.name, in: self.descriptor) == self.number }
}
