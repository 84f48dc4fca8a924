// Both have <fcntl.h>: to the compiler `flock` belongs to the one that it has built last, as after an
// update of SQLite's header.
import CSQLite
import Glibc

/// A lock on a byte of a file, which keeps nobody out: it shows the others who have it that there is
/// somebody. The system releases it when its descriptor is closed.
///
/// It belongs to the open file, not to the process, so that two of one process see each other.
enum PresenceLock {
  /// What the lock shows, and the byte that it is on.
  enum Sign: Int {
    /// Somebody has the file open, or opens it.
    case isThere
    /// What a process has left behind that was killed is checked: somebody has the database open.
    case hasChecked
  }

  /// Takes the lock.
  ///
  /// - Parameter descriptor: A file that was opened for reading.
  /// - Returns: Whether it is held.
  static func take(_ descriptor: Int32, _ sign: Sign = .isThere) -> Bool {
    var lock = Self.lock(F_RDLCK, sign)
    return fcntl(descriptor, Self.ofdSetLock, &lock) == 0
  }

  /// Releases the lock.
  static func release(_ descriptor: Int32, _ sign: Sign = .isThere) {
    var lock = Self.lock(F_UNLCK, sign)
    _ = fcntl(descriptor, Self.ofdSetLock, &lock)
  }

  /// Whether somebody else holds the lock of this file, or that cannot be known.
  static func isHeldByOthers(_ descriptor: Int32, _ sign: Sign = .isThere) -> Bool {
    var lock = Self.lock(F_WRLCK, sign)
    // An open file does not see its own lock.
    guard descriptor >= 0, fcntl(descriptor, Self.ofdGetLock, &lock) == 0 else { return true }
    return lock.l_type != Int16(F_UNLCK)
  }

  private static func lock(_ type: Int32, _ sign: Sign) -> flock {
    var lock = flock()
    lock.l_start = sign.rawValue
    (lock.l_type, lock.l_whence, lock.l_len) = (Int16(type), Int16(SEEK_SET), 1)
    return lock
  }

  // F_OFD_GETLK and F_OFD_SETLK of <fcntl.h>.
  private static let ofdGetLock: Int32 = 36
  private static let ofdSetLock: Int32 = 37
}
