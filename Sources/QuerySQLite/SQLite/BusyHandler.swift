import CSQLite
import FoundationEssentials
import Query

/// How long a connection waits for a lock that another connection holds.
///
/// SQLite's own handler sleeps up to 100 ms at a time; a commit takes a thousandth of that, so with
/// many writers the lock would mostly be free. The sleeps of ``LockWait`` are short.
///
/// Used by the thread that uses the connection, and by no other.
package final class BusyHandler {
  /// How long to wait for a lock that is held.
  enum Patience: Equatable, Sendable {
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
    LockWait.sleep(round: round)
    return true
  }
}
