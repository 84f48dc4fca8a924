import FoundationEssentials
import Glibc
import QuerySQLite

/// Tells whether a database was changed: inode number, length and modification time of its file and
/// of its WAL. Not the inode's change time: if root opens a WAL, SQLite sets its owner to the one
/// that it has.
///
/// The kernel's times advance in steps of some milliseconds, so a file that was changed a moment
/// ago may be changed again and look the same: such a state is not ``isSettled``.
struct FileState: Equatable {
  private struct Part: Equatable {
    let number: FileNumber
    let size: Int
    let modified: Duration
  }

  private let database: Part?
  private let log: Part?

  /// The length of the WAL; nil if there is none.
  var logSize: Int? { self.log?.size }

  /// The length of the file; nil if there is none.
  var databaseSize: Int? { self.database?.size }

  /// Examines the files, without opening them.
  ///
  /// - Parameter path: The path of the database.
  init(of path: String) {
    self.database = Self.part(path)
    self.log = Self.part("\(path)-wal")
  }

  private static func part(_ path: String) -> Part? {
    var status = stat()
    guard stat(path, &status) == 0, let number = FileNumber(path: path) else { return nil }
    return Part(
      number: number, size: Int(status.st_size), modified: Self.duration(status.st_mtim))
  }

  private static func duration(_ time: timespec) -> Duration {
    .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }

  /// How long the state must still last until no change can hide in it; zero: it is settled.
  var unsettledTime: Duration {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    let step = Duration.milliseconds(30)
    let ages = [self.database, self.log].compactMap { $0 }.map { Self.duration(now) - $0.modified }
    // A time in the future does not tell when the change was.
    let youngest = ages.filter { $0 >= .zero }.min() ?? step
    return max(step - youngest, .zero)
  }
}
