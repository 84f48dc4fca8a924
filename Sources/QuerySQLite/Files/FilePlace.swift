import CSQLite
import Glibc

/// Names in a folder that is held open: checking whether one still belongs to its file takes a third
/// of the time that a path takes, and in a folder in which no name has changed a tenth.
///
/// It does not notice that the folder itself was moved.
final class FilePlace {
  /// When the names of the folder last changed: a rename, a link and a removal set both times.
  struct Stamp: Equatable {
    let modified: Int64
    let changed: Int64

    init(modified: Int64, changed: Int64) {
      self.modified = modified
      self.changed = changed
    }

    /// nil if the folder cannot be examined.
    init?(of descriptor: Int32) {
      var status = stat()
      guard fstat(descriptor, &status) == 0 else { return nil }
      self.modified = Self.nanoseconds(status.st_mtim)
      self.changed = Self.nanoseconds(status.st_ctim)
    }

    /// Whether the file system keeps more than hundredths of a second: then it ticks as the kernel does.
    var isFine: Bool { self.modified % 10_000_000 != 0 && self.changed % 10_000_000 != 0 }

    static var now: Int64 {
      var time = timespec()
      clock_gettime(CLOCK_REALTIME, &time)
      return self.nanoseconds(time)
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
      Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
  }

  /// A change within this time of the last one may leave the stamp as it was: the kernel's clock ticks
  /// every few milliseconds, that of a FAT every two seconds.
  private static let resolution = (fine: 50_000_000 as Int64, coarse: 3_000_000_000 as Int64)

  private let descriptor: Int32
  private let files: [(name: String, number: FileNumber)]
  /// The stamp with which each name belonged to its file.
  private var kept: Stamp?

  /// Holds the folder of files open.
  ///
  /// - Parameters:
  ///   - folder: The path of the folder.
  ///   - files: The names in it, and what identifies the file of each.
  /// - Returns: nil if the folder cannot be opened.
  init?(folder: String, files: [(name: String, number: FileNumber)]) {
    // Bytes: a folder.
    self.descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    self.files = files
    if self.descriptor < 0 { return nil }
  }

  deinit { if self.descriptor >= 0 { close(self.descriptor) } }

  /// Whether each name still belongs to its file.
  var isKept: Bool {
    // Read first: what changes from now on changes it again.
    let stamp = Stamp(of: self.descriptor)
    if let stamp, stamp == self.kept { return true }
    self.kept = nil
    guard self.isKept(but: nil) else { return false }
    if let stamp, self.isSettled(stamp), self.areFilesOfTheFolder { self.kept = stamp }
    return true
  }

  /// Whether each name but one belongs to its file, whatever the folder's stamp is.
  func isKept(but name: String?) -> Bool {
    self.files.allSatisfy { file in
      file.name == name || FileNumber(name: file.name, in: self.descriptor) == file.number
    }
  }

  /// Whether the next change gives the folder another stamp.
  private func isSettled(_ stamp: Stamp) -> Bool {
    let (last, now) = (max(stamp.modified, stamp.changed), Stamp.now)
    return now > last
      && now - last > (stamp.isFine ? Self.resolution.fine : Self.resolution.coarse)
  }

  /// A name that is a symbolic link stands for a file that another folder may lose.
  private var areFilesOfTheFolder: Bool {
    self.files.allSatisfy { file in
      FileNumber(name: file.name, in: self.descriptor, followsLinks: false) == file.number
    }
  }
}
