import CSQLite
import Foundation
import Query

/// Tries to take the write lock of a database over and over, and records the longest refusal.
///
/// It waits as a writer unknown to the library does: a tenth of a millisecond at a time. It
/// measures how long a writer of another process waits, however the holders take turns.
// @unchecked: its thread uses the handle until it has ended.
final class LockProbe: @unchecked Sendable {
  private let handle: OpaquePointer
  private let isEnding = Locked(false)
  private let longest = Locked(0.0)
  private let ended = DispatchSemaphore(value: 0)

  /// Opens an existing database, and begins.
  ///
  /// - Throws: ``CheckFailure`` if it cannot be opened.
  init(path: String) throws {
    var handle: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX
    guard sqlite3_open_v2(path, &handle, flags, nil) == SQLITE_OK, let handle else {
      throw CheckFailure(description: "no \(path)")
    }
    self.handle = handle
    // If it closes last, it runs no checkpoint: another application would not, either.
    sqlite3_busy_timeout(handle, 0)
    sqlite3_wal_autocheckpoint(handle, 0)
    let thread = Thread { self.run() }
    thread.start()
  }

  private func run() {
    while !self.isEnding.withLock({ $0 }) {
      let watch = Stopwatch()
      while sqlite3_exec(self.handle, "BEGIN IMMEDIATE", nil, nil, nil) == SQLITE_BUSY {
        if self.isEnding.withLock({ $0 }) { break }
        usleep(100)
      }
      let time = watch.nanoseconds()
      sqlite3_exec(self.handle, "ROLLBACK", nil, nil, nil)
      self.longest.withLock { $0 = max($0, time) }
      usleep(100)
    }
    self.ended.signal()
  }

  /// Ends it.
  ///
  /// - Returns: The longest wait, in nanoseconds.
  func end() throws -> Double {
    self.isEnding.withLock { $0 = true }
    self.ended.wait()
    sqlite3_close(self.handle)
    return self.longest.withLock { $0 }
  }
}
