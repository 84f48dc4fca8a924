import FoundationEssentials
import Glibc
import Query

/// The pause during which no process tries to checkpoint a database, because a reader of an older
/// state blocked the last try. All processes share it: it is stored in the times of `cache.lock`,
/// which have no other use. The access time is when the pause began, the modification time when it
/// ends.
///
/// Times that make no valid pause, such as those of a new file, or from before the clock was set,
/// count as no pause: the worst that can follow is one try too many.
struct CheckpointPause {
  /// The longest pause.
  static let longest = Duration.seconds(60)

  /// The absolute path of the file whose times these are.
  let path: String

  /// - Parameters:
  ///   - kind: Which database.
  ///   - folder: The absolute path of its folder.
  init(kind: DatabaseKind, folder: String) { self.path = "\(folder)/\(kind.rawValue).lock" }

  /// A pause that has begun.
  struct Standing: Equatable {
    /// How much of it is left; zero if it has ended.
    var remaining: Duration
    /// Its whole length; zero if there is no pause.
    var length: Duration

    static let none = Standing(remaining: .zero, length: .zero)
  }

  /// The pause that the processes share; nil if there is no file that could tell.
  ///
  /// - Parameter now: Nanoseconds since 1970.
  func read(now: Int64 = Self.now) -> Standing? {
    var status = stat()
    guard lstat(self.path, &status) == 0 else { return nil }
    let begin = Self.nanoseconds(status.st_atim)
    let end = Self.nanoseconds(status.st_mtim)
    let (length, remaining) = (end.clampedDifference(begin), end.clampedDifference(now))
    guard length > 0, .nanoseconds(length) <= Self.longest, begin <= now else {
      return Standing.none
    }
    // A pause that ended long ago tells nothing about the reader that is in the way now.
    guard remaining > -length else { return Standing.none }
    return Standing(remaining: .nanoseconds(max(remaining, 0)), length: .nanoseconds(length))
  }

  /// Begins a pause.
  ///
  /// - Returns: Whether the other processes can see it.
  func begin(_ length: Duration, now: Int64 = Self.now) -> Bool {
    let nanoseconds = Int64(min(length, Self.longest) / .nanoseconds(1))
    return self.set(begin: now, end: now.clampedSum(nanoseconds))
  }

  /// Ends the pause.
  func end(now: Int64 = Self.now) { _ = self.set(begin: now, end: now) }

  private func set(begin: Int64, end: Int64) -> Bool {
    let times = [begin, end].map {
      timespec(tv_sec: Int($0 / 1_000_000_000), tv_nsec: Int($0 % 1_000_000_000))
    }
    return utimensat(AT_FDCWD, self.path, times, AT_SYMLINK_NOFOLLOW) == 0
  }

  private static func nanoseconds(_ time: timespec) -> Int64 {
    let (seconds, isTooMuch) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
    return isTooMuch ? 0 : seconds.clampedSum(Int64(time.tv_nsec))
  }

  /// Nanoseconds since 1970.
  static var now: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Self.nanoseconds(time)
  }
}
