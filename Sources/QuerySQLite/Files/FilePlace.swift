import CSQLite
import Glibc

/// Names in a folder that is held open: checking whether one still belongs to its file takes a third
/// of the time that a path takes, and in a folder in which no name has changed a tenth.
///
/// It does not notice that the folder itself was moved.
final class FilePlace {
  /// When the names of the folder last changed: a rename, a link and a removal set both times.
  private struct Stamp: Equatable {
    let modified: Int64
    let changed: Int64

    /// nil if the folder cannot be examined.
    init?(of descriptor: Int32) {
      var status = stat()
      guard fstat(descriptor, &status) == 0 else { return nil }
      self.modified = Self.nanoseconds(status.st_mtim)
      self.changed = Self.nanoseconds(status.st_ctim)
    }

    static var now: Int64 {
      var time = timespec()
      clock_gettime(CLOCK_REALTIME, &time)
      return self.nanoseconds(time)
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
      Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
  }

  /// A change within this time of the last one may leave the stamp as it was: the clock of a file
  /// system ticks every few milliseconds, that of a FAT every two seconds.
  static let resolution = Duration.seconds(3)

  private let descriptor: Int32
  private let files: [(name: String, number: FileNumber)]
  private let resolution: Int64
  /// The stamp with which each name belonged to its file.
  private var kept: Stamp?

  /// Holds the folder of files open.
  ///
  /// - Parameters:
  ///   - folder: The path of the folder.
  ///   - files: The names in it, and what identifies the file of each.
  ///   - resolution: How old the stamp of the folder must be before its equality tells something.
  /// - Returns: nil if the folder cannot be opened.
  init?(
    folder: String, files: [(name: String, number: FileNumber)],
    resolution: Duration = FilePlace.resolution
  ) {
    // Bytes: a folder.
    self.descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    self.files = files
    self.resolution = Int64(resolution / .nanoseconds(1))
    if self.descriptor < 0 { return nil }
  }

  /// Holds the folder of one file open.
  convenience init?(folder: String, name: String, number: FileNumber) {
    self.init(folder: folder, files: [(name, number)])
  }

  deinit { if self.descriptor >= 0 { close(self.descriptor) } }

  /// Whether each name still belongs to its file.
  var isKept: Bool {
    // Read first: what changes from now on changes it again.
    let stamp = Stamp(of: self.descriptor)
    if let stamp, stamp == self.kept { return true }
    self.kept = nil
    for file in self.files
    where FileNumber(name: file.name, in: self.descriptor) != file.number {
      return false
    }
    if let stamp, self.isSettled(stamp), self.areFilesOfTheFolder { self.kept = stamp }
    return true
  }

  /// Whether the next change gives the folder another stamp.
  private func isSettled(_ stamp: Stamp) -> Bool {
    let (last, now) = (max(stamp.modified, stamp.changed), Stamp.now)
    return now > last && now - last > self.resolution
  }

  /// A name that is a symbolic link stands for a file that another folder may lose.
  private var areFilesOfTheFolder: Bool {
    self.files.allSatisfy { file in
      FileNumber(name: file.name, in: self.descriptor, followsLinks: false) == file.number
    }
  }
}
