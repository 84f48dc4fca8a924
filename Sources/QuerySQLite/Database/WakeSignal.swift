import Foundation
import Glibc
import Query

/// Wakes one thread that waits, possibly for another descriptor too.
// @unchecked: descriptors are numbers, and the system guards the files behind them.
final class WakeSignal: @unchecked Sendable {
  private let reading: Int32
  private let writing: Int32

  /// - Throws: `StorageError` if the process has no descriptor left.
  init() throws(StorageError) {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else {
      let message = String(cString: strerror(errno))
      throw StorageError(operation: "open", code: .cannotOpen, message: message)
    }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    (self.reading, self.writing) = (ends[0], ends[1])
  }

  deinit {
    close(self.reading)
    close(self.writing)
  }

  /// Ends the wait of the thread, or the next one.
  func wake() {
    var byte: UInt8 = 0
    // If the pipe is full, the thread wakes anyway.
    _ = Glibc.write(self.writing, &byte, 1)
  }

  /// Waits for ``wake()``, a time, or a readable descriptor. May return early.
  ///
  /// - Parameters:
  ///   - end: The latest time to return; nil: no limit.
  ///   - other: Another descriptor to wait for.
  func wait(until end: SuspendingClock.Instant?, or other: Int32? = nil) {
    var descriptors = [pollfd(fd: self.reading, events: Int16(POLLIN), revents: 0)]
    if let other { descriptors.append(pollfd(fd: other, events: Int16(POLLIN), revents: 0)) }
    var timeout: Int32 = -1
    if let end {
      let milliseconds = (SuspendingClock.now.duration(to: end) / .milliseconds(1)).rounded(.up)
      timeout = Int32(min(max(milliseconds, 0), 3_600_000))
    }
    poll(&descriptors, nfds_t(descriptors.count), timeout)
    withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer in
      while Glibc.read(self.reading, buffer.baseAddress, buffer.count) == buffer.count {}
    }
  }
}
