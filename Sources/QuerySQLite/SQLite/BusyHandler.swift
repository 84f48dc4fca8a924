import CSQLite
import Foundation
import Query

/// How long a connection waits for a lock that another connection holds.
///
/// SQLite's own handler sleeps up to 100 ms at a time; a commit takes a thousandth of that, so with
/// many writers the lock would mostly be free. Sleeps here are short, and random, so that writers
/// that collided once do not collide again.
///
/// Used by the thread that uses the connection, and by no other.
package final class BusyHandler {
  /// How long to wait for a lock that is held.
  enum Patience: Equatable {
    /// Wait this long, then fail with `SQLITE_BUSY`.
    case limited(Duration)
    /// Wait until this instant, then fail with `SQLITE_BUSY`.
    case until(SuspendingClock.Instant)
    /// Wait until it is free. A checkpoint needs this: on a time-out SQLite silently falls back to
    /// a passive one.
    case endless
    /// Wait this long, then interrupt. A checkpoint then copies nothing, not even passively, and
    /// fails with `SQLITE_INTERRUPT`.
    case interrupting(after: Duration)
  }

  var patience: Patience

  /// Set once, right after the connection was opened.
  var handle: OpaquePointer?

  /// Whether a wait was interrupted since this was last set to false.
  var hasInterrupted = false

  private var start = SuspendingClock.now

  init(patience: Patience) { self.patience = patience }

  /// Installs this handler in a connection; it must live as long as the connection.
  func install(on handle: OpaquePointer) {
    self.handle = handle
    let context = Unmanaged.passUnretained(self).toOpaque()
    sqlite3_busy_handler(
      handle,
      { context, round in
        guard let context else { return 0 }
        let handler = Unmanaged<BusyHandler>.fromOpaque(context).takeUnretainedValue()
        return handler.shouldRetry(round: round) ? 1 : 0
      },
      context
    )
  }

  private func shouldRetry(round: Int32) -> Bool {
    if round == 0 { self.start = .now }
    switch self.patience {
    case .endless: break
    case .limited(let duration):
      let now = SuspendingClock.now
      if now - self.start >= duration { return false }
      // At the exit of the program all waits together last no longer than one.
      if let exit = ExitFlush.startedAt, now - exit >= duration { return false }
    case .until(let end):
      if SuspendingClock.now >= end { return false }
    case .interrupting(let duration):
      if SuspendingClock.now - self.start >= duration {
        self.hasInterrupted = true
        sqlite3_interrupt(self.handle)
        return false
      }
    }
    Self.sleep(round: round)
    return true
  }

  /// The longest single sleep of a wait.
  static let longestSleep = Duration.milliseconds(5)

  /// Sleeps a random time that grows with the round, at most 5 ms.
  package static func sleep(round: Int32) {
    usleep(UInt32.random(in: 50...min(5_000, 200 << UInt32(min(round, 5)))))
  }

  /// Sleeps, by default long enough for every waiter to try the lock once.
  static func sleep(for duration: Duration = BusyHandler.longestSleep) {
    if duration > .zero { usleep(UInt32(clamping: duration.microseconds)) }
  }
}
