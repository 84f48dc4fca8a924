import CSQLite
import FoundationEssentials
import Glibc
import Query

/// Wakes one thread that waits, at once or at a time, possibly for another descriptor too.
// @unchecked: descriptors are numbers, and the system guards the files behind them.
final class WakeSignal: @unchecked Sendable {
  private let reading: Int32
  private let writing: Int32
  private let timer: Int32

  /// - Throws: `StorageError` if the process has no descriptor left.
  init() throws(StorageError) {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw Self.failure(errno) }
    let timer = csqlite_timer_create()
    if timer < 0 {
      let number = errno
      for end in ends { close(end) }
      throw Self.failure(number)
    }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    (self.reading, self.writing, self.timer) = (ends[0], ends[1], timer)
  }

  private static func failure(_ number: Int32) -> StorageError {
    StorageError(operation: "open", code: .cannotOpen, message: String(cString: strerror(number)))
  }

  deinit { for descriptor in [self.reading, self.writing, self.timer] { close(descriptor) } }

  /// Ends the wait of the thread, or the next one.
  func wake() {
    var byte: UInt8 = 0
    // If the pipe is full, the thread wakes anyway.
    _ = Glibc.write(self.writing, &byte, 1)
  }

  /// Ends the wait of the thread at a time, instead of at the one that was set before. It costs a
  /// caller less than to wake the thread, which would then set the time itself.
  func wake(at time: SuspendingClock.Instant) {
    let wait = min(SuspendingClock.now.duration(to: time), .seconds(3_600))
    // Zero would stop the timer.
    _ = csqlite_timer_set(self.timer, max(Int64(wait / .nanoseconds(1)), 1))
  }

  /// Waits for ``wake()``, for the time of ``wake(at:)``, or for a readable descriptor. May return
  /// early, and does so again until ``takeTime()`` was called if that was the time.
  ///
  /// - Parameter other: Another descriptor to wait for.
  func wait(or other: Int32? = nil) {
    var descriptors = [self.reading, self.timer, other].compactMap { descriptor in
      descriptor.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    }
    poll(&descriptors, nfds_t(descriptors.count), -1)
    withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { buffer in
      while Glibc.read(self.reading, buffer.baseAddress, buffer.count) == buffer.count {}
    }
  }

  /// - Returns: Whether the time of ``wake(at:)`` has come since it was set; then there is none any more.
  func takeTime() -> Bool {
    var count: UInt64 = 0
    return Glibc.read(self.timer, &count, 8) > 0
  }
}
