// `stat` is of either, by what the compiler has read before.
import CSQLite
import Foundation

/// The files in `bodies/` beside the outbox, each of which belongs to a row.
struct BodyFiles: Sendable {
  private let folder: String

  /// Younger files stay: one that no row names may be about to get a row.
  static let minimumAge: Double = 3_600

  /// - Parameter folder: The absolute path of the folder of the database.
  init(folder: String) { self.folder = "\(folder)/bodies" }

  /// Removes a file whose row has ended. A name that leads out of the folder is ignored.
  func remove(_ name: String) {
    if name.isEmpty || name.contains("/") || name == "." || name == ".." { return }
    // Bytes: a body file.
    if RegularFile.isFolder(self.folder) { unlink("\(self.folder)/\(name)") }
  }

  /// Removes files that are older than an hour and that no row names.
  ///
  /// - Parameter isNamed: Whether a row names a file.
  func sweep(now: Date = Date(), isNamed: (String) throws -> Bool) rethrows {
    guard RegularFile.isFolder(self.folder) else { return }
    let names = (try? FileManager.default.contentsOfDirectory(atPath: self.folder)) ?? []
    for name in names {
      var status = stat()
      guard lstat("\(self.folder)/\(name)", &status) == 0, status.st_mode & S_IFMT == S_IFREG,
        now.timeIntervalSince1970 - Double(status.st_mtim.tv_sec) > Self.minimumAge,
        try !isNamed(name)
      else { continue }
      self.remove(name)
    }
  }
}
